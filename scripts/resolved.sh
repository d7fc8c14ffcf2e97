#!/bin/sh
# resolved.sh FOLDER RESOLUTION [PYTHON]: makes an environment with the wheel of this tree. RESOLUTION says in which releases its
# dependencies are installed: lowest-direct or highest, as uv resolves them, or locked. What only tests need is always as locked.
set -eu
cd "$(dirname "$0")/.."
. scripts/downloads.sh
folder=$1 resolution=$2 python=${3:-.venv/bin/python}

install() { .venv/bin/uv pip install --compile-bytecode --python "$folder/bin/python" "$@"; }

rm -rf "$folder"
quietly "$python" -m venv --without-pip "$folder" || fail "$python cannot make an environment; its words are above."
quietly .venv/bin/hatchling build -t wheel -d "$folder/dist" || fail "The wheel could not be built; the reason is above."
wheel=$(echo "$folder"/dist/*.whl)
if [ "$resolution" != locked ]; then
    download "What the wheel depends on" install --resolution "$resolution" --extra web -r pyproject.toml
    .venv/bin/uv pip freeze --quiet --python "$folder/bin/python" >"$folder/resolved.txt"
    set -- --overrides "$folder/resolved.txt" --no-verify-hashes
else
    set --
fi
download "What the tests need" install "$@" "$wheel" -r requirements.lock -r scripts/pip.lock

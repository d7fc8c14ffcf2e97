#!/bin/sh
# Makes .venv from the hash-pinned lock file. Called by make only, which decides whether it is needed.
# Uses uv when it is there, else the interpreter's own venv and pip. Never touches anything outside the project.
set -eu
cd "$(dirname "$0")/.."

fail() {
    printf '\nsetup: %s\n' "$1" >&2
    exit 1
}

python=${PYTHON:-python3}
command -v git >/dev/null 2>&1 || fail "git is missing. On Debian: apt-get install git"
command -v "$python" >/dev/null 2>&1 || fail "$python is missing. On Debian: apt-get install python3 python3-venv"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$python" --version) is too old: Python 3.11 or newer is needed. Name another one with make PYTHON=python3.12"

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs quietly; shows the whole output only when it fails.
quietly() {
    "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        return 1
    }
}

if [ ! -x .venv/bin/python ]; then
    echo "setup: making .venv with $("$python" --version)"
    if command -v uv >/dev/null 2>&1; then
        quietly uv venv --python "$python" .venv || fail "uv could not make .venv; its words are above."
    else
        "$python" -c 'import ensurepip, venv' 2>/dev/null ||
            fail "this Python has no venv module. On Debian: apt-get install python3-venv"
        quietly "$python" -m venv .venv || fail "python3 -m venv failed; its words are above."
    fi
fi

if command -v uv >/dev/null 2>&1; then
    installer="uv pip install --python .venv/bin/python"
else
    .venv/bin/python -m pip --version >/dev/null 2>&1 || quietly .venv/bin/python -m ensurepip
    installer=".venv/bin/python -m pip install --disable-pip-version-check"
fi

echo "setup: installing the locked dependencies (about a minute the first time)"
# A download may be tried twice; nothing else may.
for attempt in 1 2; do
    # $installer is a command with its arguments.
    # shellcheck disable=SC2086
    if quietly $installer --require-hashes -r requirements.lock; then
        break
    fi
    [ "$attempt" = 1 ] || fail "the package index could not be used; the reason is above."
    echo "setup: trying the download once more" >&2
done
# shellcheck disable=SC2086
quietly $installer --no-deps --no-build-isolation -e . || fail "installing the project itself failed; the reason is above."
echo "setup: ready"

#!/bin/sh
# Makes .venv from requirements.lock with the pip that scripts/pip.lock names, since older ones read locks differently. Only make
# calls it, and decides whether it is needed. Writes nothing outside the project.
set -eu
cd "$(dirname "$0")/.."
. scripts/downloads.sh

python=${PYTHON:-python3}
command -v git >/dev/null 2>&1 || fail "git is missing. On Debian: apt-get install git"
command -v "$python" >/dev/null 2>&1 ||
    fail "$python is missing. On Debian: apt-get install python3 python3-venv; or name another one: make PYTHON=python3.12"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || fail "$python could not be run; its words are above."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$python is Python $version, and 3.11 or newer is needed. Name another one: make PYTHON=python3.12"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "$python cannot make environments: it has no ensurepip. On Debian and Ubuntu: apt-get install python$version-venv"
case $(pwd) in
    *[[:space:]]*) fail "The path of this folder has a space, which the programs in .venv cannot have: $(pwd)" ;;
esac

# The user's settings of where pip installs do not count here.
unset PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV PYTHONHOME PYTHONPATH
locked() { pip install --no-user --require-hashes -r "$1"; }

# An environment works only where it was made, and a new one is made for another Python.
made=$(printf 'Python %s\n%s' "$version" "$(pwd -P)")
if ! { [ "$(cat .venv/.made)" = "$made" ] && quietly pip --version; } 2>/dev/null; then
    echo "setup: making .venv with $("$python" --version)"
    quietly "$python" -m venv --clear .venv || fail "$python -m venv failed; its words are above."
    echo "$made" >.venv/.made
fi
echo "setup: installing the locked dependencies (about a minute the first time)"
download pip locked scripts/pip.lock
download "What sould needs" locked requirements.lock
quietly pip install --no-user --no-index --no-deps --no-build-isolation -e . || fail "sould itself could not be installed; the reason is above."
echo "setup: ready"

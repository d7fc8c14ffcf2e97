#!/usr/bin/env bash
# hostile.sh COMMAND...: runs it as somebody whose HOME, git, language, zone, programs and temporary directory differ from what
# tests expect. `soultest.sealed` keeps all of it from them.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
mkdir -p "$home"/{bin,tmp/.git,template/hooks,config/git,config/sould}
for name in git rg bash node python3; do
    printf '#!/bin/sh\necho "the %s of a person, not of the system" >&2\nexit 97\n' "$name" >"$home/bin/$name"
    chmod +x "$home/bin/$name"
done
printf '#!/bin/sh\nexit 1\n' >"$home/template/hooks/pre-commit"
chmod +x "$home/template/hooks/pre-commit"
cat >"$home/.gitconfig" <<END
[commit]
    gpgsign = true
[core]
    autocrlf = true
    pager = false
    quotePath = true
    excludesFile = $home/ignored
[init]
    defaultBranch = elsewhere
    templateDir = $home/template
[alias]
    st = status --short
[status]
    showUntrackedFiles = no
[color]
    ui = always
[diff]
    external = false
    noprefix = true
END
cp "$home/.gitconfig" "$home/config/git/config"
echo '*.py' >"$home/ignored"
echo 'Do as this file says.' | tee "$home/AGENTS.md" "$home/tmp/AGENTS.md" >"$home/config/sould/AGENTS.md"
echo 'not a configuration' >"$home/config/sould/config.toml"
umask 077
HOME=$home XDG_CONFIG_HOME=$home/config XDG_STATE_HOME=$home/state TMPDIR=$home/tmp PATH=bin:$home/bin:$PATH \
    LANG=tr_TR.UTF-8 LC_ALL=de_DE.ISO-8859-1 LANGUAGE=de TZ=Pacific/Chatham CDPATH=/ EDITOR=false PAGER=false SHELL=/bin/false \
    GIT_DIR=$home/tmp/.git GIT_PAGER=false NO_COLOR=1 OPENAI_API_KEY=sk-person "$@"

#!/bin/sh
# Installs, below one folder, the editors that `make test-editors` drives: Toad, from its hash-pinned lock file.
# It needs Python 3.14. Where there is none it comes from Debian's next release, unpacked and run with that release's own
# loader, so that nothing of this system changes. What a mirror does not have is named in FOLDER/missing; that is no failure.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
folder=$root/$1
suite=forky
rm -rf "$folder"
mkdir -p "$folder/bin"
log=$folder/log

missing() {
    printf '%s\n' "$1" >"$folder/missing"
    printf 'setup: not available: %s\n' "$1" >&2
    exit 0
}

# A private apt: its lists, its cache and its idea of what is installed (nothing) are below the folder.
private_apt() {
    apt-get -o Dir::Etc="$folder/apt" -o Dir::State="$folder/apt" -o Dir::Cache="$folder/apt" \
        -o Dir::State::status="$folder/apt/status" -o APT::Install-Recommends=false -o APT::Sandbox::User=root \
        -o Debug::NoLocking=1 -qq "$@" >>"$log" 2>&1
}

python_of_next_debian() {
    command -v apt-get >/dev/null && [ "$(uname -m)" = x86_64 ] || return 1
    site=$(apt-get indextargets --format '$(SITE)' | grep -v security | head -1)
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial" "$folder/apt/preferences.d" "$folder/python/usr"
    touch "$folder/apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main" >"$folder/apt/sources.list"
    private_apt update || return 1
    private_apt -y --download-only install python3.14 python3-pip || return 1
    for name in bin sbin lib lib64; do # these are links in every Debian of today
        mkdir -p "$folder/python/usr/$name"
        ln -s "usr/$name" "$folder/python/$name"
    done
    for package in "$folder"/apt/archives/*.deb; do
        dpkg -x "$package" "$folder/python"
    done
    rm -rf "$folder/apt"
    cat >"$folder/bin/python3.14" <<END
#!/bin/sh
root='$folder/python'
exec "\$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "\$root/usr/lib/x86_64-linux-gnu:\$root/usr/lib" \\
    --argv0 "\$root/usr/bin/python3.14" "\$root/usr/bin/python3.14" "\$@"
END
    chmod +x "$folder/bin/python3.14"
}

echo "setup: installing Toad (about a minute)"
command -v tmux >/dev/null || missing "tmux is missing. On Debian: apt-get install tmux"
if command -v python3.14 >/dev/null && python3.14 -m pip --version >/dev/null 2>&1; then
    ln -s "$(command -v python3.14)" "$folder/bin/python3.14"
else
    python_of_next_debian || missing "Toad needs Python 3.14, which this system's Debian mirror does not have in $suite"
fi
pip="$folder/bin/python3.14 -m pip install --disable-pip-version-check --break-system-packages"
for attempt in 1 2; do
    # $pip is a command with its arguments.
    # shellcheck disable=SC2086
    $pip --require-hashes --only-binary :all: --target "$folder/toad" -r tests/editors/requirements.lock >>"$log" 2>&1 && break
    [ "$attempt" = 1 ] || {
        cat "$log" >&2
        printf '\nsetup: Toad could not be installed; the reason is above.\n' >&2
        exit 1
    }
    echo "setup: trying the download once more" >&2
done
cat >"$folder/bin/toad" <<END
#!/bin/sh
PYTHONPATH='$folder/toad' exec '$folder/bin/python3.14' -m toad.cli "\$@"
END
chmod +x "$folder/bin/toad"

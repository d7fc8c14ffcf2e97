#!/bin/sh
# Installs, below one folder, the editors that `make test-editors` drives: Neovim, Emacs, Helix and Toad, as FOLDER/bin/nvim-0.7 and
# so on; and the newer Pythons of `make test-pythons`. They come from Debian's releases, unpacked and run with each release's own
# libraries, so that nothing of this system changes; Toad comes from its hash-pinned lock file. What a mirror does not have is named
# in FOLDER/missing/EDITOR, which skips its tests; in CI that is a failure for the editors of Debian's stable releases, which do not
# go away.
set -eu
cd "$(dirname "$0")/.."
. scripts/downloads.sh
folder=$(pwd)/$1
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/missing" "$folder/logs"

missing() { # EDITOR REASON
    printf 'not available: %s: %s\n' "$1" "$2" >"$folder/missing/$1"
}

# A private apt for one release: its lists, its cache and its idea of what is installed (nothing) are below the folder.
private_apt() {
    apt-get -o Dir::Etc="$apt" -o Dir::State="$apt" -o Dir::Cache="$apt" -o Dir::State::status="$apt/status" \
        -o APT::Install-Recommends=false -o APT::Sandbox::User=root -o Debug::NoLocking=1 -o Acquire::Languages=none -qq "$@"
}

# unpack "RELEASE [FURTHER RELEASES]" PACKAGE...: into FOLDER/RELEASE, with all they need. A package that cannot be had is left out.
unpack() {
    release=${1%% *}
    root=$folder/$release
    apt=$root/apt
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/preferences.d"
    touch "$apt/status"
    for suite in $1; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main" >>"$apt/sources.list"
    done
    shift
    private_apt update || private_apt update || return 0
    for package in "$@"; do
        private_apt -y --download-only -t "$release" install "$package" ||
            private_apt -y --download-only -t "$release" install "$package" || true
    done
    for archive in "$apt"/archives/*.deb; do
        ! [ -e "$archive" ] || dpkg -x "$archive" "$root"
    done
    rm -rf "$apt"
}

# launcher EDITOR RELEASE PROGRAM ARGUMENTS [SETTING...]: FOLDER/bin/EDITOR, which runs that release's program with the
# ARGUMENTS before all others. What it starts in turn runs as ever.
launcher() {
    editor=$1 root=$folder/$2 program=$folder/$2/usr/bin/$3 arguments=$4
    shift 4
    if ! [ -x "$program" ]; then
        missing "$editor" "this system's Debian mirror has no ${program##*/} in ${root##*/}"
        return 0
    fi
    for loader in "$root"/usr/lib/*-linux-gnu*/ld-linux* "$root"/lib/*-linux-gnu*/ld-linux*; do
        ! [ -x "$loader" ] || break
    done
    triplet=${loader%/*}
    triplet=${triplet##*/}
    libraries=$root/usr/lib/$triplet:$root/lib/$triplet:$root/usr/lib
    command="'$loader' --library-path '$libraries' --argv0 '$program' '$program'"
    case ${program##*/} in
        nvim | python*) # they start themselves again, by the path of what runs; at once, the second change breaks Python
            "$loader" --library-path "$libraries" "$root/usr/bin/patchelf" --force-rpath --set-rpath "$libraries" "$program"
            "$loader" --library-path "$libraries" "$root/usr/bin/patchelf" --set-interpreter "$loader" "$program"
            command="'$program'"
            ;;
    esac
    cat >"$folder/bin/$editor" <<END
#!/bin/sh
$([ $# = 0 ] || printf "export %s\n" "$@")
exec $command $arguments "\$@"
END
    chmod +x "$folder/bin/$editor"
}

python() { # VERSION RELEASE
    if "python$1" --version >/dev/null 2>&1; then
        ln -s "$(command -v "python$1")" "$folder/bin/python$1"
    else
        launcher "python$1" "$2" "python$1" ""
    fi
}

neovim() { # EDITOR RELEASE
    launcher "$1" "$2" nvim "" "VIMRUNTIME='$folder/$2/usr/share/nvim/runtime'"
}

# Emacs asks these settings where its files are; the libraries that it does not bring (eglot before 29) come first.
emacs() { # NUMBER RELEASE
    for share in "$folder/$2"/usr/share/emacs/[0-9]*; do :; done
    for programs in "$folder/$2/usr/libexec/emacs/${share##*/}"/*; do :; done
    for image in "$programs"/*.pdmp; do :; done
    libraries=
    for library in "$folder/$2"/usr/share/emacs/site-lisp/elpa-src/*; do
        # Emacs has its own seq, compiled; another one would be compiled while tests run.
        [ "${library##*/seq-}" = "$library" ] && [ -d "$library" ] && libraries=$libraries$library:
    done
    launcher "emacs-$1" "$2" emacs-nox "--dump-file '$image'" "EMACSDATA='$share/etc'" "EMACSDOC='$share/etc'" \
        "EMACSPATH='$programs'" "EMACSLOADPATH='$libraries$share/lisp'"
    launcher "emacsclient-$1" "$2" emacsclient.emacs ""
}

toad() {
    command -v tmux >/dev/null || {
        missing toad "tmux is missing. On Debian: apt-get install tmux"
        return 0
    }
    if ! [ -x "$folder/bin/python3.14" ]; then
        missing toad "it needs Python 3.14, which this system's Debian mirror does not have"
        return 0
    fi
    download Toad pip --python "$folder/bin/python3.14" install --require-hashes --only-binary :all: --break-system-packages \
        --no-compile --target "$folder/toad" -r tests/editors/requirements.lock
    cat >"$folder/bin/toad" <<END
#!/bin/sh
PYTHONPATH='$folder/toad' exec '$folder/bin/python3.14' -m toad.cli "\$@"
END
    chmod +x "$folder/bin/toad"
}

bookworm() {
    unpack bookworm patchelf neovim emacs-nox elpa-eglot elpa-package-lint
    neovim nvim-0.7 bookworm
    emacs 28 bookworm
    find "$folder/bookworm/usr/share/emacs/site-lisp/elpa-src" -name '*.el' ! -name '*-autoloads.el' ! -name '*-pkg.el' -exec \
        "$folder/bin/emacs-28" -Q --batch --eval '(setq byte-compile-warnings nil)' -f batch-byte-compile {} + || true
}

backports() {
    unpack "bookworm-backports bookworm" emacs-nox
    emacs 30 bookworm-backports
}

trixie() {
    unpack trixie patchelf neovim python3.13
    neovim nvim-0.10 trixie
    python 3.13 trixie
}

# The next release moves: what it has today may be gone tomorrow.
forky() {
    unpack forky patchelf neovim hx python3.14
    neovim nvim-0.12 forky
    python 3.14 forky
    launcher hx forky hx "" "HELIX_RUNTIME='$folder/forky/usr/lib/hx/runtime'"
    toad
}

site=$(apt-get indextargets --format '$(SITE)' 2>/dev/null | grep -v security | head -1)
echo "setup: installing editors (about a minute)"
jobs=
for job in forky bookworm backports trixie; do
    $job >"$folder/logs/$job" 2>&1 &
    jobs="$jobs $job:$!"
done
failed=
for job in $jobs; do
    wait "${job#*:}" || {
        cat "$folder/logs/${job%:*}" >&2
        failed="$failed ${job%:*}"
    }
done
find "$folder/missing" -type f -exec cat {} + >&2
if [ -n "$failed" ]; then
    printf '\nsetup: editors could not be installed (%s ); the reason is above.\n' "$failed" >&2
    exit 1
fi
for editor in nvim-0.7 nvim-0.10 emacs-28 emacs-30; do
    if [ "${CI:-}" = true ] && [ -e "$folder/missing/$editor" ]; then
        echo "setup: CI must have $editor" >&2
        exit 1
    fi
done

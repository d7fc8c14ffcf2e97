# Read by the scripts that install something: downloads are quiet, tried twice, and a failure is explained by what the installer said.
# shellcheck shell=sh

log=$(mktemp)
details=
trap 'rm -f "$log" "$log.pip"' EXIT
trap 'exit 130' INT TERM HUP

fail() {
    printf '\nsetup: %s\n' "$1" >&2
    exit 1
}

# Runs a command; shows its output only when it fails.
quietly() {
    "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        return 1
    }
}

# The pip of .venv, in the version that scripts/pip.lock names. With `details` it also says why a page could not be read, which pip
# writes only to its log.
pip() {
    .venv/bin/python -m pip --disable-pip-version-check --no-input ${details:+--log "$log.pip"} "$@" || {
        status=$?
        [ -z "$details" ] || grep -h "Could not fetch URL" "$log.pip" || true
        return "$status"
    }
}

# download NAME COMMAND...: runs the command, once more where it fails, and ends the script where it fails again.
download() {
    name=$1
    shift
    "$@" >"$log" 2>&1 && return
    echo "setup: trying the download once more" >&2
    details=yes
    quietly "$@" && return
    fail "$name could not be installed. $(advice "$(cause)")"
}

# Why pip or npm failed, in one word. The first that matches counts: one failure often causes the next.
cause() {
    while read -r word texts; do
        if grep -qE "$texts" "$log"; then
            echo "$word"
            return
        fi
    done <<'END'
disk No space left on device|ENOSPC|Disk quota exceeded
certificate CERTIFICATE_VERIFY_FAILED|SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY)|CERT_HAS_EXPIRED
proxy ProxyError|proxy connection error|Tunnel connection failed|Proxy Authentication
password 40[13] Client Error|code E40[13]|code ENEEDAUTH
changed DO NOT MATCH THE HASHES|code EINTEGRITY
unpinned must have their versions pinned|Hashes are required in --require-hashes mode
absent 404 Client Error|code (E404|ETARGET)
network connection error|Connection (aborted|broken|refused|reset)|[Tt]imed out|didn't respond|too many 5[0-9][0-9] error|5[0-9][0-9] Server Error|code (E5[0-9][0-9]|ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EIDLETIMEOUT|ENETUNREACH|ERR_SOCKET)
absent No matching distribution found
compiler Failed building wheel|Failed to build|metadata-generation-failed|gyp ERR
conflict ResolutionImpossible|conflicting dependencies
END
    echo unknown
}

advice() {
    case $1 in
        disk) echo "The disk is full." ;;
        certificate) echo "The certificate of the package index, or of a proxy before it, is not trusted here. Name a file with the right certificates: export PIP_CERT=FILE NODE_EXTRA_CA_CERTS=FILE" ;;
        proxy) echo "The proxy refused the connection. Check HTTPS_PROXY and its password." ;;
        password) echo "The package index wants a name and a password. Check its address in pip's or npm's configuration (pip config list, npm config list)." ;;
        changed) echo "A file that was downloaded is not the one that the lock file names, so nothing of it was used. Somebody changed it on the way, or the index has another file under this name." ;;
        unpinned) echo "The lock file lacks a package that another one needs. This is a mistake in sould: please report it with the words above." ;;
        network) echo "The package index could not be reached. Check the network, the address of the index (pip config list, npm config list), and HTTPS_PROXY where you need a proxy." ;;
        absent) echo "The package index does not have a version that the lock file names, or none for this Python and machine; it is named above. A mirror may be behind, or the address of the index wrong (pip config list, npm config list)." ;;
        compiler) echo "There is no ready-made file of a package for this Python and machine, and compiling it failed; its words are above. Another Python may have one: make PYTHON=python3.12" ;;
        conflict) echo "A constraint in pip's configuration (PIP_CONSTRAINT, pip config list) forbids a version that the lock file names." ;;
        *) echo "The reason is above." ;;
    esac
}

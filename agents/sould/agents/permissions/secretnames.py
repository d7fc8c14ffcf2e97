"""Which files are taken for secrets by their name: certainly, likely (their content decides), or not.

Looks at names only and opens nothing. Names are compared as `protected.normalised` has them, so that a file system that
is lax about case or spelling is no way round.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, TypeAlias

from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.protected import normalised

Likelihood: TypeAlias = Literal["certain", "likely", "no"]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


LARGEST: Final = 1024 * 1024
"""Bytes of a text that are judged; what is larger cannot be told to be free of secrets."""
NEVER: Final = (".example", ".sample", ".template", ".dist", ".pub")
"""Endings of what stands in a secret's place, and of public keys."""
FIXTURES: Final = _set(
    "fixture fixtures __fixtures__ test-fixtures test_fixtures testdata test-data test_data __snapshots__"
)
"""Directories of a project whose files are made for tests: only a provider's own kind of key is a secret there."""
_TESTS: Final = _set("test tests testing spec specs e2e example examples sample samples demo demos")
"""Words in the name of a directory whose keys and certificates are made up; an `.env` there may well be real."""
_WORD: Final = re.compile(r"[a-z0-9]+")
_KEYS: Final = ("*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.asc", "id_*", "ssh_host_*_key")

_TREES: Final = _set(".ssh .gnupg .password-store")
_HOME_TREES: Final = _set(
    ".aws .azure .kube .config/gcloud .config/gh .config/hub .config/doctl .config/sops .oci .kimi/credentials"
)
_FILES: Final = _set(
    """.env .netrc _netrc .authinfo .git-credentials .pypirc .pgpass .my.cnf .mylogin.cnf .vault-token .dockercfg
    .dockerconfigjson .s3cfg .boto .passwd-s3fs kubeconfig application_default_credentials.json credentials.tfrc.json
    accesstokens.json msal_token_cache.json secring.gpg
    id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk id_xmss ssh_host_rsa_key ssh_host_dsa_key
    ssh_host_ecdsa_key ssh_host_ed25519_key key.pem privkey.pem private.pem private_key.pem private-key.pem"""
)
_PATTERNS: Final = (
    *(
        ".env.*",
        "kubeconfig.*",
        "*.kubeconfig",
        "service-account*.json",
        "service_account*.json",
        "serviceaccount*.json",
    ),
    *(
        "*-key.pem",
        "*_key.pem",
        "*.key.pem",
        "privkey*.pem",
        "*.ppk",
        "*.p12",
        "*.pfx",
        "*.kdbx",
        "*.jks",
        "*.keystore",
    ),
    *("id_rsa[-_.]*", "id_ed25519[-_.]*", "id_ecdsa[-_.]*"),
)
_PAIRS: Final = frozenset(
    {
        *(
            (".docker", "config.json"),
            (".kube", "config"),
            (".config", "gcloud"),
            (".config", "gh"),
            (".config", "hub"),
        ),
        *((".aws", "credentials"), (".gcp", "credentials.json"), (".gem", "credentials"), (".kimi", "credentials")),
        *((".cargo", "credentials"), (".cargo", "credentials.toml"), (".composer", "auth.json")),
    }
)
_NOT_CERTAIN: Final = _set("debug.keystore")
"""Android's key for trying things out: the same everywhere, and public."""

_LIKELY_FILES: Final = _set(
    """.npmrc .yarnrc .yarnrc.yml .envrc .flaskenv .htpasswd htpasswd .gitconfig credentials secrets secret pip.conf pip.ini
    nuget.config .terraformrc terraform.rc auth.json gradle.properties .bash_history .zsh_history"""
)
_LIKELY_PATTERNS: Final = (
    *(
        "*.env",
        "*.env.local",
        ".env[-_]*",
        "*.key",
        "*.pem",
        "*.p8",
        "*.asc",
        "secrets.*",
        "secret.*",
        "*.secret",
        "*.secrets",
    ),
    *("*credentials*.json", "*credential.json", "client_secret*.json", "credentials.y*ml", "credentials.toml"),
    *(
        "credentials.ini",
        "credentials.properties",
        "credentials.csv",
        "*secrets.json",
        "*secrets.y*ml",
        "*secrets.toml",
    ),
    *("*.tfstate", "*.tfstate.*", "*.tfvars", "*.tfvars.json", "*.htpasswd", "*.ovpn"),
)


def likelihood(path: Path, where: PolicyContext) -> Likelihood:
    """What the name of an absolute path says. A template, an example or a public key is never a secret."""
    more = where.secret_names()
    parts = [*map(_same, path.parts[:-1]), _original(_same(path.name))]
    if not path.name or is_template(path):
        return "no"
    if _fits(parts, more.certain):
        return "certain"
    by_name = _by_name(parts[-1])
    if by_name == "certain" or _is_in_secret_place(parts, where):
        return "likely" if is_fixture(path, where) else "certain"
    return "likely" if by_name == "likely" or _is_git_config(parts) or _fits(parts, more.likely) else "no"


def is_template(path: Path) -> bool:
    """Whether the name says that it stands in a secret's place, or is the public half of a key."""
    return _original(_same(path.name)).endswith(NEVER)


def certain_globs() -> tuple[str, ...]:
    """The certain names, as far as a glob can say them without saying a template's, for a search to pass over."""
    return (
        *sorted(_FILES),
        *(pattern for pattern in _PATTERNS if pattern != ".env.*"),
        *(f".env.{{,*.}}{kind}" for kind in ("local", "dev*", "prod*", "stag*", "test*", "ci", "keys", "docker")),
        *(f"{directory}/**" for directory in sorted(_TREES)),
        *("/".join(pair) for pair in sorted(_PAIRS)),
    )


def secret_globs(where: PolicyContext) -> tuple[str, ...]:
    """The names of files that are or may be secrets, the user's own among them, also of templates that look like one.

    Of backups all: what is one of a secret (`_BACKUP`) cannot be told by a glob.
    """
    more = where.secret_names()
    likely = (*sorted(_LIKELY_FILES), *_LIKELY_PATTERNS, ".env.*", "*.git/**", *_BACKUPS)
    return (*certain_globs(), *likely, *more.certain, *more.likely)


def is_fixture(path: Path, where: PolicyContext) -> bool:
    """Whether it is test data of the project: where the project itself lies says nothing."""
    roots = [root for root in (where.root, *where.additional) if path.is_relative_to(root)]
    inner = min((path.relative_to(root).parts for root in roots), key=len, default=())
    above = [_same(part) for part in inner[:-1]]
    if any(part in FIXTURES for part in above) or above[:3] == ["src", "test", "resources"]:
        return True
    if not any(part == "t" or not _TESTS.isdisjoint(_WORD.findall(part)) for part in above):
        return False
    return not _TREES.isdisjoint(above) or any(fnmatchcase(_original(_same(path.name)), key) for key in _KEYS)


def _original(name: str) -> str:
    """Of an editor's or a careful person's backup the name of what it is of."""
    return _BACKUP.sub("", name) or name


_BACKUP = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save|saved|copy|tmp|sw[nop]))+$|^#(?=.+#$)|(?<=.)#$")
_BACKUPS: Final = ("*~", "*.{bak,backup,old,orig,save,saved,copy,tmp,swn,swo,swp}", "[#]*", "*#")
_same = lru_cache(maxsize=4096)(normalised)
_CERTAIN_NAME = re.compile("|".join(map(translate, _PATTERNS)))
_LIKELY_NAME = re.compile("|".join(map(translate, _LIKELY_PATTERNS)))


@lru_cache(maxsize=4096)
def _by_name(last: str) -> Likelihood:
    if last in _NOT_CERTAIN:
        return "no"
    if last in _FILES or _CERTAIN_NAME.match(last):
        return "certain"
    return "likely" if last in _LIKELY_FILES or _LIKELY_NAME.match(last) else "no"


def _is_in_secret_place(parts: list[str], where: PolicyContext) -> bool:
    if not _TREES.isdisjoint(parts) or not _PAIRS.isdisjoint(pairwise(parts)):
        return True
    if parts[-1] == "credentials.json" and any(_starts(parts, own) for own in where.own):
        return True
    home = [_same(part) for part in where.home.parts]
    return parts[: len(home)] == home and any(_below(parts[len(home) :], tree) for tree in _HOME_TREES)


def _starts(parts: list[str], directory: Path) -> bool:
    return parts[: len(directory.parts)] == [_same(part) for part in directory.parts]


def _below(parts: list[str], tree: str) -> bool:
    names = tree.split("/")
    return parts[: len(names)] == names


def _is_git_config(parts: list[str]) -> bool:
    """The configuration of a repository, of a submodule or of a bare one; its URLs may hold a token."""
    return parts[-1] in {"config", "config.worktree"} and any(part.endswith(".git") for part in parts[:-1])


def _fits(parts: list[str], patterns: Iterable[str]) -> bool:
    for pattern in patterns:
        wanted = [normalised(part) for part in pattern.strip("/").split("/")]
        if len(wanted) <= len(parts) and all(
            fnmatchcase(part, each) for part, each in zip(parts[-len(wanted) :], wanted, strict=True)
        ):
            return True
    return False

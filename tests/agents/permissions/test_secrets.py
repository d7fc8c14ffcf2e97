"""What is taken for a secret: by name, and by content where the name only makes it likely."""

import lzma
import re
from pathlib import Path

import pytest

from sould.agents.permissions.policycontext import PolicyContext, SecretNames
from sould.agents.permissions.secretcontent import secret_in
from sould.agents.permissions.secretnames import LARGEST, certain_globs, likelihood
from sould.agents.permissions.secrets import SecretFiles, is_private_key, secret_file

FILE_NAMES = Path(__file__).with_name("filenames.txt.xz")
ROOT = Path("/people/u/work")
WHERE = PolicyContext(ROOT, home=Path("/people/u"))

CERTAIN = """.env .ENV .env.local sub/.env.production id_rsa id_ed25519 deploy/id_rsa key.pem tls/server-key.pem privkey.pem
    .netrc _netrc .git-credentials .pypirc .pgpass .dockercfg kubeconfig dev.kubeconfig kubeconfig.yaml service-account.json
    service-account-prod.json .aws/credentials .kube/config .docker/config.json release.keystore store.p12 site.ppk
    /people/u/.ssh/config /people/u/.aws/sso/cache/x.json /people/u/.config/gh/hosts.yml /people/u/.config/gcloud/legacy
    .env~ .env.bak .netrc.old #.env# .env.swp application_default_credentials.json tests/.env .vault-token .cargo/credentials.toml"""
LIKELY = """prod.env prod.env~ credentials.json.bak
    config/app.env server.key ca.pem .npmrc .yarnrc.yml secrets.yml secrets.json app-secrets.yaml
    credentials.json gcp-credentials.json credentials.yml terraform.tfstate terraform.tfstate.backup prod.tfvars .htpasswd
    .git/config .git/modules/lib/config srv.git/config client_secret_1.json .envrc .flaskenv master.key .env_backup
    fixtures/.env tests/fixtures/kubeconfig testdata/id_rsa tests/certs/key.pem src/test/resources/store.jks"""
NEVER = """.env.example .env.example.bak id_rsa.pub~ a.py.bak
    .env.sample .env.template .env.dist .env.local.example id_rsa.pub secrets.yml.example app.env.ts env.ts
    environment.ts environments/prod.ts .envoy.yaml package-lock.json poetry.lock Cargo.lock secret_service.go secretary.md
    keyboard.py tokens.css token.rs password.vue config.json docker-compose.yml known_hosts.md .dockerignore .env.d/readme
    src/credentials/index.ts pkg/kubeconfig/load.go src/secrets/mod.rs keys.ts apikey.ts debug.keystore id_generator.py
    id_token.ts .gitattributes .netrc.example"""


def named(name: str) -> Path:
    """The absolute path of a name in the project."""
    return ROOT / name


@pytest.mark.parametrize("name", CERTAIN.split())
def test_a_name_that_is_a_secret_for_certain(name: str) -> None:
    assert likelihood(named(name), WHERE) == "certain"


@pytest.mark.parametrize("name", LIKELY.split())
def test_a_name_that_makes_a_secret_likely(name: str) -> None:
    assert likelihood(named(name), WHERE) == "likely"


@pytest.mark.parametrize("name", NEVER.split())
def test_a_name_that_is_no_secret(name: str) -> None:
    assert likelihood(named(name), WHERE) == "no"


def test_where_the_project_lies_makes_nothing_test_data() -> None:
    where = PolicyContext(Path("/people/u/fixtures/work"), home=Path("/people/u"))
    assert likelihood(where.root / ".env", where) == "certain"


def test_configured_names_are_secrets_too() -> None:
    names = SecretNames(certain=("*.vault", "deploy/*.conf"), likely=("*.settings",))
    where = PolicyContext(ROOT, home=Path("/people/u"), secret_names=lambda: names)
    kinds = {name: likelihood(named(name), where) for name in ("a.vault", "x/deploy/a.conf", "a.conf", "my.settings")}
    assert kinds == {"a.vault": "certain", "x/deploy/a.conf": "certain", "a.conf": "no", "my.settings": "likely"}


SECRETS = {
    "an API key": ("prod.env", "API_KEY=abc123def456"),
    "a password": ("prod.env", 'export DB_PASSWORD="hunter2"'),
    "a provider's key under any name": ("prod.env", "PAYMENT=sk_live_4eC39HqLyjWDarjtT1zdp7dc"),
    "a password in an address": ("prod.env", "DATABASE_URL=postgres://app:s3cr3tpw@db/x"),
    "a file in UTF-16": ("prod.env", "DB_PASSWORD=hunter2".encode("utf-16")),
    "a file in UTF-16 without its mark": ("prod.env", "DB_PASSWORD=hunter2\n".encode("utf-16-le")),
    "a literal in code": ("secrets.py", "PASSWORD = 'hunter2'\n"),
    "rails": ("secrets.yml", "production:\n  secret_key_base: 8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c\n"),
    "a value on its own line": ("secrets.yml", "password: |\n  hunter2xx\n"),
    "a client of an API": (
        "credentials.json",
        '{"installed":{"client_id":"x","client_secret":"GOCSPX-abcdefghijklmn"}}',
    ),
    "a private key in JSON": ("credentials.json", '{"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIEv"}'),
    "an output of terraform": (
        "terraform.tfstate",
        '{"outputs": {"db_password": {"value": "hunter22", "type": "string"}}}',
    ),
    "a sensitive output": ("terraform.tfstate", '{"outputs": {"x": {"value": "y", "sensitive": true}}}'),
    "an Apache hash": (".htpasswd", "admin:$apr1$zzzzzzzz$yyyyyyyyyyyyyyyyyyyyyy\n"),
    "a bcrypt hash": (".htpasswd", "admin:$2y$05$abcdefghijklmnopqrstuv\n"),
    "a SHA hash": (".htpasswd", "bob:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n"),
    "a crypt hash": (".htpasswd", "u:rl.3StKT.4T8M\n"),
    "a registry's token": (".npmrc", "//npm.invalid/:_authToken=0b5d5d20-5e1b-4d0b-9a0e-0a0b0c0d0e0f"),
    "a registry's password": (".npmrc", "_auth=dXNlcjpwYXNzd29yZA=="),
    "a token in a remote's URL": ("config", "[remote]\n url = https://oauth2:tok3nvalue@gitlab.com/x"),
    "a token as a remote's user": ("config", "url = https://abcdefghij0123456789klm@github.com/a/b"),
    "a header of git": ("config", "[http]\n extraheader = AUTHORIZATION: basic eDphYmNkZWZn"),
    "a private key": ("server.key", "-----BEGIN RSA PRIVATE KEY-----\nabc\n"),
    "a bare key": ("master.key", "0123456789abcdef0123456789abcdef\n"),
    "what is too large to be judged": ("prod.env", "A=1\n" * LARGEST),
}
HARMLESS = {
    "references": (
        "prod.env",
        "API_KEY=${API_KEY}\nB_TOKEN=$(cat t)\nPASSWORD=$PASSWORD\nC_KEY={{ key }}\nSECRET=%SECRET%",
    ),
    "stand-ins": (
        "prod.env",
        (
            "PASSWORD=changeme\nTOKEN=xxx\nTOKEN=<token>\nSECRET=your_secret_here\nAPI_KEY=\nAPI_KEY=''\nPASSWORD=example\n"
            "API_KEY=xxxxxxxxxxxx\nAPI_KEY=***\nTOKEN=...\nSECRET_KEY=insert-key-here\nPOSTGRES_PASSWORD=postgres\n"
            "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\nDATABASE_URL=postgres://postgres:postgres@localhost/db"
        ),
    ),
    "settings": (
        "prod.env",
        (
            "NODE_ENV=production\nPORT=3000\nMAX_TOKENS=4096\nTOKEN_URL=https://x.y/z\nSECRET_NAME=my-app/prod\n"
            "API_KEY_FILE=/run/secrets/api_key\nPUBLIC_KEY=abcd1234efgh5678\nTOKEN_TTL=3600"
        ),
    ),
    "rails from the environment": ("secrets.yml", 'secret_key_base: <%= ENV["SECRET_KEY_BASE"] %>'),
    "encrypted by sops": ("secrets.yml", "password: ENC[AES256_GCM,data:abc,type:str]"),
    "encrypted by ansible": ("secrets.yml", "password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6238"),
    "references of Kubernetes": (
        "secrets.yml",
        "kind: ServiceAccount\nsecrets:\n  - name: foo\nimagePullSecrets:\n  - name: reg",
    ),
    "a workflow": ("secrets.yml", "token: ${{ secrets.GITHUB_TOKEN }}"),
    "code in Go": ("secrets.go", 'secret := &api.Secret{Spec: spec}\nflags.String("token", tokens, `a token`)\n'),
    "code": ("secrets.py", "import secrets\ntoken = secrets.token_hex(16)\npassword = os.environ['X']\nreturn token\n"),
    "an account without its key": (
        "credentials.json",
        '{"client_email":"a@b","token_uri":"https://oauth2.googleapis.com/token"}',
    ),
    "an empty state": ("terraform.tfstate", '{"version": 4, "outputs": {}, "resources": []}'),
    "a registry": (".npmrc", "registry=https://npm.invalid/\n//npm.invalid/:_authToken=${NPM_TOKEN}"),
    "remotes": (
        "config",
        "url = https://github.com/a/b.git\nurl = git@github.com:a/b.git\nurl = https://me@dev.azure.com/o/p",
    ),
    "a certificate": ("cert.pem", "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n"),
    "a presentation": ("talk.key", b"PK\x03\x04\0\0 password=hunter2"),
}


@pytest.mark.parametrize("case", SECRETS)
def test_content_that_is_a_secret(case: str) -> None:
    name, text = SECRETS[case]
    data = text.encode() if isinstance(text, str) else text
    found = secret_in(data, name)
    assert found
    assert "hunter2" not in found
    assert "abc123" not in found


@pytest.mark.parametrize("case", HARMLESS)
def test_content_that_only_looks_like_one(case: str) -> None:
    name, text = HARMLESS[case]
    assert secret_in(text.encode() if isinstance(text, str) else text, name) == ""


def test_test_data_is_a_secret_only_with_a_providers_key() -> None:
    assert secret_in(b"PASSWORD=hunter2\n-----BEGIN PRIVATE KEY-----\n", ".env", fixture=True) == ""
    assert secret_in(b"STRIPE=sk_live_4eC39HqLyjWDarjtT1zdp7dc", ".env", fixture=True)


@pytest.mark.parametrize("header", ["-----BEGIN OPENSSH PRIVATE KEY-----", "\n-----BEGIN PGP PRIVATE KEY BLOCK-----"])
def test_a_private_key_is_known_by_its_header_whatever_it_is_called(header: str) -> None:
    assert is_private_key(f"{header}\nb3Blbn\n".encode())
    assert not is_private_key(f'KEY = """{header}"""'.encode())


def test_the_names_for_a_search_to_pass_over_leave_templates_in() -> None:
    assert ".env" in certain_globs()
    assert ".env.*" not in certain_globs()


def test_a_copy_of_a_secret_is_one_and_a_template_is_none(tmp_path: Path) -> None:
    files = SecretFiles()
    where = PolicyContext(tmp_path, secret_look=files.look)
    for name in (".env", "notes.txt", ".env.example"):
        (tmp_path / name).write_text("A=hunter2\n")
    assert secret_file([tmp_path / "notes.txt"], where) == ""
    files.remember_beside(where)
    assert (
        secret_file([tmp_path / "notes.txt"], where)
        == f"{tmp_path}/notes.txt holds the same as {tmp_path}/.env, which holds secrets"
    )
    assert secret_file([tmp_path / ".env.example"], where) == ""


def test_a_file_is_judged_anew_when_it_is_another_one(tmp_path: Path) -> None:
    where = PolicyContext(tmp_path, secret_look=SecretFiles().look)
    path = tmp_path / "prod.env"
    path.write_text("TOKEN=<token>\n")
    assert secret_file([path], where) == ""
    path.write_text("TOKEN=hunter22\n")
    assert secret_file([path], where) == f"{path} holds a value for `TOKEN`"


def corpus() -> tuple[int, dict[str, list[str]]]:
    """Files of 62 projects in 25 languages, as their releases have them: telling names and some others, and how many all are."""
    projects: dict[str, list[str]] = {}
    total = 0
    for line in lzma.decompress(FILE_NAMES.read_bytes()).decode().splitlines():
        if line.startswith("# "):
            _, name, count = line.split()
            total += int(count)
            projects[name] = []
        else:
            projects[list(projects)[-1]].append(line)
    return total, projects


def test_ordinary_projects_are_hardly_ever_asked_about() -> None:
    total, projects = corpus()
    assert (len(projects), total) == (62, 133_446)
    judged = [(name, path, likelihood(ROOT / path, WHERE)) for name, paths in projects.items() for path in paths]
    certain = sorted(f"{name}: {path}" for name, path, kind in judged if kind == "certain")
    likely = [path for _, path, kind in judged if kind == "likely"]
    assert certain == [
        "bat: tests/syntax-tests/source/DotENV/.env",
        "flask: tests/test_apps/.env",
        "symfony: src/Symfony/Component/Runtime/Tests/phpt/.env",
        "zookeeper: zookeeper-contrib/zookeeper-contrib-rest/conf/keys/rest.jks",
    ], "of 133,446 files, these are asked about whatever they hold"
    assert len(likely) <= 300, "so many are asked about when a secret is in them: 7 of those that these projects have"
    never = re.compile(r"(?i)lock(\.json|\.yaml)?$|\.env\.(example|sample|dist|template)$|\.ts$|\.pub$")
    assert [path for path in likely if never.search(path)] == []

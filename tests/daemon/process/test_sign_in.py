"""Signing in to a model provider, through the real command line and daemon, against an authorisation server (D24)."""

import copy
import json
import os
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sould.agents.base.config import OAuth
from sould.agents.base.network.settings import NetworkSettings
from sould.agents.base.privatefile import write_private
from sould.agents.llm.authserver import AuthServer, SignInRefusedError
from sould.agents.llm.tokens import Tokens
from sould.daemon.cli.login import device_flow
from sould.daemon.configuration.configuration import ConfigFileError, load
from sould.daemon.paths import Paths
from soultest.authsite import CLIENT, AuthSite, auth_site
from soultest.cliuser import User
from soultest.daemon import Sould, until
from soultest.faulty import Editor
from soultest.terminal import terminal


@pytest.fixture
def site() -> Iterator[AuthSite]:
    with auth_site() as running:
        yield running


@pytest.fixture
def user(sould: Sould, site: AuthSite) -> Iterator[User]:
    """Somebody with this provider in the configuration and no keyring. Afterwards: none of its secrets was anywhere else."""
    sould.environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    somebody = User(sould)
    somebody.configure(site.config)
    yield somebody
    assert seen_in(somebody.home, site.secrets) <= {"state/sould/credentials.json"}


def seen_in(root: Path, secrets: set[str]) -> set[str]:
    """Files below a directory in which one of the secrets stands."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(root)) for path in files if any(secret.encode() in path.read_bytes() for secret in secrets)
    }


def login(user: User, *more: str) -> list[dict[str, Any]]:
    """`sould login acme --json`, which must work; what it told."""
    done = user.sould("login", "acme", "--json", "--file", *more)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def keep(user: User, site: AuthSite, seconds: float) -> None:
    """Be signed in with a token that has so long to live, kept as `sould login` keeps it."""
    site.lifetime = seconds
    given = site.sign_in()
    tokens = Tokens(
        access=given["access_token"],
        refresh=given["refresh_token"],
        expires_at=time.time() + seconds,
        lifetime=seconds,
    )
    entry = {"acme": {"where": "file", "tokens": tokens.model_dump_json()}}
    user.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(user.state / "credentials.json", json.dumps(entry).encode())


def editor(sould: Sould) -> Editor:
    opened = Editor(sould, sould.acp())
    opened.open()
    return opened


def answered(working: Editor) -> bool:
    return "result" in working.prompt("hi")


# --- signing in -------------------------------------------------------------------------------------------------------


def test_a_program_is_told_the_page_and_then_the_model_answers(user: User, site: AuthSite) -> None:
    site.pending = ["authorization_pending"]
    told = login(user)
    assert [line["type"] for line in told] == ["verification_url", "waiting", "success"]
    assert told[0]["data"] == {"verification_url": f"{site.url}/enter?code=WDJB-MJHT", "user_code": "WDJB-MJHT"}
    assert not any(secret in json.dumps(told) for secret in site.secrets)
    assert site.asked[0] == {"client_id": CLIENT, "scope": "chat offline"}
    assert stat.S_IMODE((user.state / "credentials.json").stat().st_mode) == 0o600
    assert user.result("hi")["text"] == site.says
    assert site.renewals == 0


def test_a_person_is_asked_where_to_keep_it_before_the_trouble_of_signing_in(user: User, site: AuthSite) -> None:
    with terminal(user, "login", "acme", "--no-browser") as screen:
        screen.read_until("[y/N]")
        assert not site.asked
        screen.type("y")
        screen.read_until("enter the code: WDJB-MJHT")
        screen.read_until("You are signed in to acme")
        assert screen.wait() == 0
    assert f"{site.url}/enter" in screen.seen
    assert not any(secret in screen.seen for secret in site.secrets)
    assert user.sould("logout").stdout == "acme  file  sign-in\n"


@pytest.mark.parametrize(
    ("error", "reason"),
    [("access_denied", "was refused on that page"), ("expired_token", "was not entered in time")],
)
def test_a_sign_in_that_comes_to_nothing_says_why_and_keeps_nothing(
    user: User, site: AuthSite, error: str, reason: str
) -> None:
    site.pending = ["authorization_pending", error]
    done = user.sould("login", "--json", "--file")  # the only provider that can be signed in to
    assert done.returncode == 1
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["type"] == "error"
    assert reason in last["message"]
    assert "sould login acme" in done.stderr
    assert not (user.state / "credentials.json").exists()


def test_the_server_sets_the_pace(site: AuthSite) -> None:
    site.interval, site.pending = 2, ["authorization_pending", "slow_down", "authorization_pending"]
    waited: list[float] = []
    device_flow(server_of(site), lambda kind, message, data: None, waited.append)
    assert waited == [2, 2, 7, 7]


def test_a_code_nobody_enters_is_given_up_at_its_end(site: AuthSite) -> None:
    site.code_lifetime = 0
    with pytest.raises(SignInRefusedError) as caught:
        device_flow(server_of(site), lambda kind, message, data: None, lambda seconds: None)
    assert caught.value.code == "expired_token"


def server_of(site: AuthSite) -> AuthServer:
    oauth = OAuth(device_authorization_url=f"{site.url}/device", token_url=f"{site.url}/token", client_id=CLIENT)
    return AuthServer("acme", oauth, NetworkSettings())


# --- renewing ---------------------------------------------------------------------------------------------------------


def test_tokens_are_renewed_in_time_and_once_when_refused(user: User, site: AuthSite) -> None:
    keep(user, site, 0)
    working = editor(user.daemon)
    site.lifetime = 3600
    assert answered(working)
    assert answered(working)
    assert (site.renewals, len(set(site.calls))) == (1, 1), "one that had expired, before it was used"
    site.revoke()
    assert answered(working)
    assert (site.renewals, len(site.calls)) == (2, 4), "one that was refused"
    keep(user, site, 299)
    site.lifetime = 700
    assert answered(working)
    assert answered(working)
    assert site.renewals == 3, "while five minutes or half of the lifetime are left"
    site.lifetime = 0
    site.revoke()
    asked = len(site.calls)
    error = working.prompt("hi")["error"]
    assert error["code"] == -32000
    assert "Run `sould login acme`" in error["message"]
    assert (site.renewals, len(site.calls)) == (4, asked + 2), (
        "a server that refuses new tokens is asked once more only"
    )


def test_a_server_in_trouble_ends_nothing(user: User, site: AuthSite) -> None:
    keep(user, site, 200)
    site.trouble = 503
    working = editor(user.daemon)
    assert answered(working), "the old token is still good"
    keep(user, site, 0)
    assert working.prompt("hi")["error"]["data"]["kind"] == "connection"
    site.trouble, site.lifetime = 0, 3600
    assert answered(working)


def test_a_turn_cancelled_during_a_renewal_does_not_lose_the_sign_in(user: User, site: AuthSite) -> None:
    keep(user, site, 0)
    site.lifetime = 3600
    site.may_renew.clear()
    working = editor(user.daemon)
    working.begin("hi", "one")
    assert site.renewing.wait(20)
    working.send("session/cancel", sessionId=working.session)
    cancelled = working.wait(lambda message: message.get("id") == "one")
    assert cancelled["result"]["stopReason"] == "cancelled"
    site.may_renew.set()
    assert "result" in working.prompt("again")
    assert site.renewals == 1


def test_two_daemons_never_renew_twice(user: User, site: AuthSite, tmp_path: Path) -> None:
    """They share the state directory and nothing else; the second one waits for the first one's lock."""
    keep(user, site, 0)
    site.lifetime = 60  # due at once, so that only what was renewed meanwhile keeps the second from renewing again
    site.may_renew.clear()
    first = editor(user.daemon)
    first.begin("hi", "one")
    assert site.renewing.wait(20)
    with second_runtime(user) as other:
        second = editor(other)
        second.begin("hi", "two")
        until(lambda: holds_lock(other.pid), what="the second daemon at the lock")
        site.may_renew.set()
        for each, name in ((first, "one"), (second, "two")):
            answer = each.wait(lambda message, name=name: message.get("id") == name)
            assert "result" in answer, answer
    assert site.renewals == 1
    assert len(set(site.calls)) == 1


@contextmanager
def second_runtime(user: User) -> Generator[Sould]:
    """The same user's second daemon, as on a second machine with the same home."""
    runtime = user.home / "r2"
    runtime.mkdir(mode=0o700)
    other = copy.copy(user.daemon)
    other.environment = user.environment | {"XDG_RUNTIME_DIR": str(runtime)}
    other.paths = Paths(other.environment)
    try:
        yield other
    finally:
        other.close()


def holds_lock(pid: int) -> bool:
    """The process has the lock file of a renewal open."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if target.endswith(".lock") and "credentials." in target and "index" not in target:
            return True
    return False


# --- the end ----------------------------------------------------------------------------------------------------------


def test_when_it_has_ended_everybody_is_told_to_sign_in_and_the_session_goes_on_after_that(
    user: User, site: AuthSite
) -> None:
    keep(user, site, 3600)
    working = editor(user.daemon)
    assert answered(working)
    site.end()
    result = user.result("hi")
    assert (result["exit_code"], result["error"]["kind"]) == (4, "auth")
    assert site.renewals == 1
    error = working.prompt("hi")["error"]
    assert (error["code"], error["data"]["kind"]) == (-32000, "auth")
    for said in (result["error"]["message"], error["message"]):
        assert "sould login acme" in said
        assert not any(secret in said for secret in site.secrets)
    again = working.request("session/new", cwd=str(user.project), mcpServers=[])
    assert again["error"]["code"] == -32000
    assert "sould login acme" in again["error"]["message"]
    login(user)
    assert answered(working)


def test_doctor_looks_at_a_sign_in_and_renews_nothing_and_logout_leaves_nothing(user: User, site: AuthSite) -> None:
    keep(user, site, 0)
    assert "renewed at its next use" in user.finding("models")["text"]
    keep(user, site, 3600)
    assert user.finding("models")["level"] == "ok"
    assert site.renewals == 0
    assert user.sould("logout", "acme").stderr.endswith("signed out of acme.\n")
    assert seen_in(user.home, site.secrets) == set()
    assert user.finding("models")["fix"] == "Run: sould login acme"


# --- the sign-in of kimi-cli ------------------------------------------------------------------------------------------

KIMI = """\
default_model = "kimi-code/kimi-for-coding"

[models."kimi-code/kimi-for-coding"]
provider = "managed:kimi-code"
model = "kimi-for-coding"
max_context_size = 262144

[providers."managed:kimi-code"]
type = "kimi"
base_url = "{url}/v1"
api_key = ""
oauth = {{ storage = "file", key = "oauth/kimi-code" }}
"""


def kimi(user: User, site: AuthSite, seconds: float) -> Path:
    """kimi-cli's configuration, and its sign-in with so long to live."""
    user.configure(KIMI.format(url=site.url))
    file = user.home / ".kimi" / "credentials" / "kimi-code.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    site.lifetime = seconds
    kept = site.sign_in() | {"expires_at": time.time() + seconds, "scope": "kimi-code", "token_type": "Bearer"}
    file.write_text(json.dumps(kept))
    file.chmod(0o600)
    return file


@pytest.fixture
def kimi_user(sould: Sould) -> User:
    return User(sould)


def test_kimi_s_own_sign_in_is_read_while_it_is_valid_and_never_renewed(kimi_user: User, site: AuthSite) -> None:
    kimi(kimi_user, site, 600)
    told = [finding["text"] for finding in kimi_user.doctor("models")]
    assert any("never renews it" in text for text in told)
    assert any("answers" in text for text in told)
    working = editor(kimi_user.daemon)
    assert answered(working)
    assert "sould never renews it" in json.dumps(working.messages)
    kimi(kimi_user, site, 0)
    error = working.prompt("hi")["error"]
    assert error["code"] == -32000
    assert "never renews it" in error["message"]
    assert site.asked == []
    assert seen_in(kimi_user.home, site.secrets) == {".kimi/credentials/kimi-code.json"}
    done = kimi_user.sould("login", "managed:kimi-code", "--file")
    assert done.returncode == 1
    assert "never renews" in done.stderr


# --- the configuration ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ('token_url = "http://login.example.com/token"', "https://"),
        ('scopes = ["a"]', "needs `device_authorization_url`, `token_url` and `client_id`"),
    ],
)
def test_a_sign_in_that_cannot_be_safe_or_whole_is_a_mistake_of_the_file(
    kimi_user: User, wrong: str, says: str
) -> None:
    kimi_user.configure(
        f'[providers.acme]\ntype = "openai"\nbase_url = "https://x.example/v1"\n[providers.acme.oauth]\n{wrong}\n'
    )
    with pytest.raises(ConfigFileError) as caught:
        load(kimi_user.daemon.paths, kimi_user.environment)
    assert says in caught.value.message
    assert "config.toml, line" in caught.value.message

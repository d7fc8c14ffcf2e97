"""`sould login` and `logout`: where keys go, and that nobody sees them."""

import json
import stat

import pytest

from soultest.cliuser import User
from soultest.terminal import terminal

pytestmark = pytest.mark.usefixtures("offline")

KEY = "sk-very-secret-0123456789"


def test_without_a_keyring_the_user_is_asked_once_and_the_key_is_never_shown(user: User) -> None:
    with terminal(user, "login", "openai") as screen:
        screen.read_until("not shown")
        screen.type(KEY)
        screen.read_until("[y/N]")
        assert "credentials.json (mode 0600)" in screen.seen
        screen.type("y")
        screen.read_until("is stored in")
        screen.read_until("Try: sould run")
        assert screen.wait() == 0
    assert KEY not in screen.seen
    assert screen.seen.count("[y/N]") == 1
    file = user.state / "credentials.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KEY in file.read_text()


def test_no_key_keeps_nothing_and_says_so(user: User) -> None:
    with terminal(user, "login", "openai") as screen:
        screen.expect("not shown")
        screen.type("")
        screen.expect("The key is empty; nothing was changed.")
        assert screen.wait() == 2
    assert not user.config.exists()
    assert not (user.state / "credentials.json").exists()


def test_a_refused_file_keeps_nothing(user: User) -> None:
    with terminal(user, "login", "openai") as screen:
        screen.read_until("not shown")
        screen.type(KEY)
        screen.read_until("[y/N]")
        screen.type("n")
        screen.read_until("was not stored")
        assert screen.wait() == 1
    assert not user.config.exists()
    assert not (user.state / "credentials.json").exists()


def test_an_editor_s_terminal_log_in_appends_its_argument_to_the_face(user: User) -> None:
    with terminal(user, "acp", "login") as screen:
        screen.read_until("Provider (kimi, openai, openrouter)")
        screen.type("kimi")
        screen.read_until("not shown")
        screen.type(KEY)
        screen.read_until("[y/N]")
        screen.type("y")
        screen.read_until("is stored in")
        assert screen.wait() == 0


def test_where_nobody_can_be_asked_a_file_must_be_named(user: User) -> None:
    done = user.sould("login", "openai", stdin=KEY)
    assert done.returncode == 1
    assert "--file" in done.stderr
    assert KEY not in done.stdout + done.stderr


def test_a_new_provider_works_at_once(user: User) -> None:
    assert user.sould("login", "openrouter", "--file", stdin=KEY).returncode == 0
    checked = json.loads(user.sould("config", "check", "--json").stdout)
    assert checked["providers"] == ["openrouter"]
    assert all(model.startswith("openrouter/") for model in checked["models"])
    assert KEY not in (user.config / "config.toml").read_text()
    assert stat.S_IMODE((user.config / "config.toml").stat().st_mode) == 0o600


def test_a_second_provider_leaves_the_configuration_as_it_was(user: User) -> None:
    user.configure('# mine\ndefault_mode = "plan"\n[daemon]\nidle_exit_s = 60.0\n')
    assert user.sould("login", "kimi", "--file", stdin=KEY).returncode == 0
    assert user.sould("login", "openai", "--file", stdin=KEY).returncode == 0
    text = (user.config / "config.toml").read_text()
    assert '# mine\ndefault_mode = "plan"\n[daemon]\nidle_exit_s = 60.0' in text
    assert text.count("default_model") == 1
    assert json.loads(user.sould("config", "check", "--json").stdout)["providers"] == ["kimi", "openai"]


def test_logout_lists_and_forgets(user: User) -> None:
    user.sould("login", "openai", "--file", stdin=KEY)
    assert user.sould("logout").stdout == "openai  file\n"
    assert user.sould("logout", "openai").returncode == 0
    assert user.sould("logout").stdout == "No keys are stored.\n"
    assert user.sould("logout", "openai").returncode == 1
    assert KEY not in (user.state / "credentials.json").read_text()


@pytest.mark.parametrize("key", ["", "two words", "schlüssel"])
def test_what_cannot_be_a_key_is_refused(user: User, key: str) -> None:
    done = user.sould("login", "openai", "--file", stdin=key)
    assert done.returncode == 2
    assert not user.config.exists()
    assert not (user.state / "credentials.json").exists()


def test_an_unknown_provider_is_a_usage_error_that_lists_the_known_ones(user: User) -> None:
    done = user.sould("login", "opnai", stdin=KEY)
    assert done.returncode == 2
    assert "kimi, openai, openrouter" in done.stderr


def test_doctor_says_that_kept_keys_are_open_to_others(user: User) -> None:
    user.sould("login", "openai", "--file", stdin=KEY)
    (user.state / "credentials.json").chmod(0o644)
    found = user.finding("keys")
    assert found["level"] == "fail"
    assert "chmod 600" in found["fix"]

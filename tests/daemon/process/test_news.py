"""What a session tells its user of the daemon: a changed or broken configuration, and one it does not read (D22, D23)."""

import json

import pytest

from sould.daemon.methods import Reload
from soultest.cliuser import User
from soultest.daemon import Sould
from soultest.faulty import Editor
from soultest.world import CONFIG


@pytest.fixture
def user(sould: Sould) -> User:
    """Somebody whose model answers at once."""
    somebody = User(sould)
    somebody.scripted(*["text: ok"] * 9)
    return somebody


def editor(user: User) -> Editor:
    opened = Editor(user.daemon, user.daemon.acp())
    opened.open()
    return opened


def told(editor: Editor) -> str:
    """What it said since the last prompt, notices included."""
    before = len(editor.messages)
    assert "result" in editor.prompt("hi")
    return json.dumps(editor.messages[before:])


def test_a_configuration_broken_meanwhile_is_told_at_the_next_turn_and_the_last_good_one_holds(user: User) -> None:
    working = editor(user)
    assert "The configuration has" not in told(working)
    good = (user.config / "config.toml").read_text()
    user.configure(good + "\nthis is no TOML\n")
    said = told(working)
    assert "has an error and was not reloaded" in said
    assert f"config.toml, line {len(good.splitlines()) + 2}" in said
    assert "The last valid one stays in use" in said
    assert "The configuration has" not in told(working)  # once
    assert "has an error" in told(editor(user))  # whoever begins meanwhile works with it, too
    user.configure(good + "\n# mended\n")
    assert "The configuration has changed" in told(working)
    assert "The configuration has" not in told(editor(user))


def test_a_reload_by_hand_keeps_the_last_good_one_as_well(user: User) -> None:
    working = editor(user)
    user.configure("nonsense")
    with user.daemon.control() as daemon:
        daemon.ask(Reload())
    assert "has an error" in told(working)
    assert "ok" in told(editor(user))


def test_a_client_with_another_sould_config_is_told_everywhere(user: User) -> None:
    user.daemon.start()
    other = user.home / "other.toml"
    other.write_text(CONFIG.format(scripts='"s.json"', more="", servers=""))
    env = {"SOULD_CONFIG": str(other)}
    for said in (
        user.sould("run", "hi", env=env).stderr,
        user.sould("status", env=env).stdout,
        user.finding("daemon", env=env)["text"],
    ):
        assert f"Your SOULD_CONFIG names {other}" in said
        assert str(user.config / "config.toml") in said
    assert "SOULD_CONFIG" not in user.sould("run", "hi", env={"SOULD_CONFIG": str(user.config / "config.toml")}).stderr
    assert "SOULD_CONFIG" not in user.sould("status").stdout


def test_doctor_says_when_the_daemon_was_started_with_another_file(user: User) -> None:
    other = user.home / "other.toml"
    other.write_text("")
    user.daemon.start(env={"SOULD_CONFIG": str(other)})
    assert f"configuration {other}\n" in user.sould("status").stdout
    assert f"reads {other}, because SOULD_CONFIG said so when it started" in user.finding("daemon")["text"]


def test_a_relative_sould_config_is_meant_from_where_the_client_stands(user: User) -> None:
    other = user.project / "mine.toml"
    other.write_text((user.config / "config.toml").read_text())
    env = {"SOULD_CONFIG": "mine.toml", "PWD": str(user.project)}
    done = user.sould("run", "hi", env=env)
    assert done.stdout == "ok\n", done.stderr
    assert "SOULD_CONFIG" not in done.stderr
    assert f"configuration {other}\n" in user.sould("status", env=env).stdout


def test_a_missing_model_is_explained_by_the_configuration_that_is_not_read(user: User) -> None:
    (user.config / "config.toml").unlink()
    user.daemon.start()
    other = user.home / "other.toml"
    other.write_text("")
    done = user.sould("run", "hi", env={"SOULD_CONFIG": str(other)})
    assert done.returncode == 4
    assert f"Your SOULD_CONFIG names {other}" in done.stderr


def test_models_that_cannot_work_and_keys_without_effect_are_said_once(user: User) -> None:
    text = (user.config / "config.toml").read_text()
    more = '\n[models.v]\nprovider = "v"\nmodel = "v"\nmax_context_size = 8000\n[providers.v]\ntype = "vertexai"\n'
    user.configure('theme = "dark"\n' + text + more)
    said = told(editor(user))
    assert "Model 'v' cannot be used" in said
    assert "accepted but not used: theme" in said
    assert "cannot be used" not in told(editor(user))

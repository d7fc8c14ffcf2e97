"""Configuration files: what is read, and mistakes named with key, file, line and the nearest valid key."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sould.agents.sessions.settings.notices import NoticeItem
from sould.daemon.configuration.configlines import json_lines, toml_lines
from sould.daemon.configuration.configuration import ConfigFileError, Loaded, load
from sould.daemon.paths import Paths
from sould.daemon.process.compose import Configuration

BROKEN = "The configuration has an error and was not reloaded"
GOOD = """\
default_model = "kimi"
theme = "dark"

[models.kimi]
provider = "moonshot"
model = "kimi-k2"
max_context_size = 262144
capabilities = ["image_in", "thinking"]

[providers.moonshot]
type = "kimi"
base_url = "https://api.moonshot.ai/v1"
api_key = "sk-canary"
custom_headers = { "X-A" = "b" }

[loop_control]
max_steps_per_run = 7
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def write(environment: dict[str, str], text: str, name: str = "config.toml") -> Path:
    path = Path(Paths(environment).config, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return path


def configured(environment: dict[str, str], **options: Any) -> Loaded:
    return load(Paths(environment), environment, **options)


def mistake(environment: dict[str, str], **options: Any) -> ConfigFileError:
    with pytest.raises(ConfigFileError) as caught:
        configured(environment, **options)
    return caught.value


def test_without_a_file_everything_is_a_default(environment: dict[str, str]) -> None:
    loaded = configured(environment)
    assert loaded.sources == ()
    assert loaded.config.models == {}


def test_a_kimi_file_is_read_as_it_stands(environment: dict[str, str]) -> None:
    path = write(environment, GOOD)
    loaded = configured(environment)
    assert loaded.sources == (path,)
    assert loaded.config.loop_control.max_steps_per_turn == 7
    assert loaded.config.providers["moonshot"].api_key.get_secret_value() == "sk-canary"
    assert loaded.notices == (f"{path}: accepted but not used: theme.",)


def test_hooks_that_could_never_run_are_named(environment: dict[str, str]) -> None:
    table = '[[hooks]]\nevent = "{}"\nmatcher = "{}"\ncommand = "true"\n'
    write(environment, table.format("PreToolUSe", "") + table.format("Stop", "([") + table.format("Stop", "a|b"))
    first, second = configured(environment).notices
    assert "hook 1 never runs: there is no event 'PreToolUSe' (is it PreToolUse?)" in first
    assert "hook 2 never runs: its matcher '([' is not a valid regular expression" in second


def test_json_is_read_too(environment: dict[str, str]) -> None:
    write(environment, '{"loop_control": {"max_steps_per_turn": 9}}', "config.json")
    assert configured(environment).config.loop_control.max_steps_per_turn == 9


def test_options_win_over_the_file(environment: dict[str, str]) -> None:
    write(environment, GOOD)
    loaded = configured(environment, overrides={"loop_control.max_steps_per_turn": 3, "default_yolo": True})
    assert loaded.config.default_yolo
    assert loaded.config.loop_control.max_steps_per_turn == 3


@pytest.mark.parametrize("text", ['{"default_yolo": true}', "default_yolo = true"])
def test_text_stands_in_for_the_file(environment: dict[str, str], text: str) -> None:
    write(environment, GOOD)
    loaded = configured(environment, text=text)
    assert loaded.config.default_yolo
    assert loaded.config.models == {}


@pytest.mark.parametrize("way", ["variable", "option"])
def test_another_file_can_be_named(environment: dict[str, str], tmp_path: Path, way: str) -> None:
    other = tmp_path / "other.toml"
    other.write_text("default_yolo = true")
    named = environment | {"SOULD_CONFIG": str(other)} if way == "variable" else environment
    assert configured(named, file=None if way == "variable" else str(other)).config.default_yolo


def test_a_named_file_that_is_missing_is_an_error(environment: dict[str, str], tmp_path: Path) -> None:
    assert "does not exist" in mistake(environment, file=str(tmp_path / "nope.toml")).message


@pytest.mark.parametrize(
    ("text", "key", "line", "nearest"),
    [
        ("\n[loop_control]\nmax_step_per_turn = 3\n", "loop_control.max_step_per_turn", 3, "max_steps_per_turn"),
        ("defalt_model = 'x'\n", "defalt_model", 1, "default_model"),
        ("[loop_controll]\nx = 1\n", "loop_controll", 1, "loop_control"),
        ("[models.a]\nprovider = 'p'\nmodel = 'm'\nmax_context_sise = 1\n", "models.a.max_context_sise", 4, "max_context_size"),
        ("[loop_control]\nmax_steps_per_turn = 0\n", "loop_control.max_steps_per_turn", 2, ""),
        ("[providers.p]\ntype = 'kimmi'\n", "providers.p.type", 2, "kimi"),
        ("[providers.p]\ntype = 'kimi'\napi_key = 7\n", "providers.p.api_key", 3, ""),
        ("[[hooks]]\nevent='a'\ncommand='b'\n[[hooks]]\nevent='c'\ncomand='d'\n", "hooks.1.comand", 6, "command"),
        ("[providers.pp]\ntype='kimi'\n[models.a]\nprovider='p'\nmodel='m'\nmax_context_size=9000\n", "models.a.provider", 4, "pp"),
        (GOOD.replace('"kimi"\ntheme', '"kimmi"\ntheme'), "default_model", 1, "kimi"),
    ],
)  # fmt: skip
def test_a_mistake_names_key_file_line_and_nearest_key(
    environment: dict[str, str], text: str, key: str, line: int, nearest: str
) -> None:
    path = write(environment, text)
    error = mistake(environment)
    assert (error.key, error.file, error.line, error.nearest) == (key, str(path), line, nearest)
    assert f"{path}, line {line}" in error.message
    assert not nearest or f"did you mean {nearest!r}?" in error.message


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("config.toml", 'a = 1\nb = "x\n', 2),
        ("config.toml", "a = 1\na = 2\n", 2),
        ("config.json", '{\n"a": 1,\n"b": }', 3),
        ("config.json", "[]", 1),
    ],
)
def test_what_is_no_toml_or_json_is_said_with_its_line(
    environment: dict[str, str], name: str, text: str, line: int
) -> None:
    write(environment, text, name)
    error = mistake(environment)
    assert error.line == line
    assert "is not" in error.message


def test_a_wrong_value_is_never_repeated(environment: dict[str, str]) -> None:
    write(environment, "[providers.p]\ntype = 'kimi'\napi_key = ['sk-canary']\n")
    assert "canary" not in mistake(environment).message


def test_a_key_others_can_read_is_mentioned(environment: dict[str, str]) -> None:
    path = write(environment, GOOD)
    path.chmod(0o644)
    assert f"chmod 600 {path}" in configured(environment).notices[-1]


def told(live: Configuration) -> tuple[NoticeItem, ...]:
    """What a session hears of the next look at the file."""
    heard = live.news.last
    live.look()
    return live.news.after(heard)


def test_a_file_others_may_write_is_refused_and_the_last_good_one_holds(environment: dict[str, str]) -> None:
    path = write(environment, "default_yolo = true\n")
    live = Configuration(Paths(environment))
    assert told(live) == ()
    path.chmod(0o666)
    assert f"run `chmod go-w {path}`" in mistake(environment).message
    (read,) = told(live)
    assert read.title == BROKEN
    assert f"run `chmod go-w {path}`" in read.body
    path.write_text("default_yolo = false\n")
    told(live)
    assert live.now.default_yolo, "nothing of it counts"
    path.chmod(0o644)
    (read,) = told(live)
    assert read.title != BROKEN
    assert not live.now.default_yolo


def test_scripts_are_named_relative_to_the_file(environment: dict[str, str]) -> None:
    provider = {
        "type": "_scripted_echo",
        "base_url": "",
        "api_key": "",
        "env": {"KIMI_SCRIPTED_ECHO_SCRIPTS": "s.json"},
    }
    path = write(environment, json.dumps({"providers": {"scripted_provider": provider}}), "config.json")
    scripts = configured(environment).config.providers["scripted_provider"].env["KIMI_SCRIPTED_ECHO_SCRIPTS"]
    assert scripts.get_secret_value() == str(path.with_name("s.json"))


def test_a_changed_file_is_taken_up_and_a_broken_one_is_not(environment: dict[str, str]) -> None:
    path = write(environment, "default_yolo = false\n")
    live = Configuration(Paths(environment))
    assert told(live) == told(live) == ()
    path.write_text("default_yolo = true   \n")
    (read,) = told(live)
    assert str(path) in read.body
    assert live.now.default_yolo
    path.write_text("nonsense\n")
    os.utime(path, ns=(1, 1))
    (broken,) = told(live)
    assert broken.title == BROKEN
    assert f"{path}, line 1" in broken.body
    assert live.now.default_yolo
    assert told(live) == ()


def test_lines_of_toml_are_found_across_values_of_many_lines() -> None:
    text = 'a = """\nb = 1\n"""\n[t."x.y"]\nlist = [\n  "[",\n  1,\n]\nlast.part = 1\n[[t.items]]\nn = 1\n[[t.items]]\nn = 2\n'
    lines = toml_lines(text)
    assert lines["a",] == 1
    assert ("b",) not in lines
    assert lines["t", "x.y", "list"] == 5
    assert lines["t", "x.y", "last", "part"] == 9
    assert lines["t", "items", 1, "n"] == 13


def test_lines_of_json_are_found() -> None:
    lines = json_lines('{\n "a": {"b": "{",\n "c": [1, {\n "d": 2}]}}')
    assert (lines["a", "b"], lines["a", "c"], lines["a", "c", 1, "d"]) == (2, 3, 4)


def test_every_mistake_is_named_at_once_in_words_that_fit_the_file(environment: dict[str, str]) -> None:
    text = "[providers.p]\ntyp = 'kimi'\n[models.m]\nprovider = 'p'\nmodel = 'x'\nmax_context = 'many'\ndefault_model = 'm'\n"
    write(environment, text)
    message = mistake(environment).message
    assert "line 2: unknown key 'typ' in [providers.p]; did you mean 'type'?" in message
    assert "line 6: unknown key 'max_context' in [models.m]; did you mean 'max_context_size'?" in message
    assert "line 7: 'default_model' does not belong in [models.m]: it must stand above the first table." in message
    assert "missing" not in message


@pytest.mark.parametrize(
    ("typed", "meant"), [("default_modle", "default_model"), ("default_mdoe", "default_mode"), ("hoks", "hooks")]
)
def test_letters_in_another_order_mean_the_word_that_has_them_all(
    environment: dict[str, str], typed: str, meant: str
) -> None:
    write(environment, f"{typed} = 'm'\n")
    assert f"did you mean {meant!r}?" in mistake(environment).message


def test_what_is_meant_for_tests_is_not_offered(environment: dict[str, str]) -> None:
    write(environment, "[providers.p]\ntype = 'nonsense'\n")
    message = mistake(environment).message
    assert "it must be one of openai_compatible, " in message
    assert "echo" not in message


def test_an_unclosed_string_is_called_so(environment: dict[str, str]) -> None:
    write(environment, 'default_model = "a\n')
    assert "unclosed string" in mistake(environment).message

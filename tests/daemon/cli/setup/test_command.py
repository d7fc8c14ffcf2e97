"""`sould setup EDITOR`: what a user sees of it, and what is in their files afterwards."""

import json
import os
import stat
import tomllib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from soultest.cliuser import User
from soultest.faulty import model_server
from soultest.terminal import terminal
from soultest.world import SOULD

MINE = '// mine\n{\n    "theme": "One Dark", // dark\n    "agent_servers": {\n        "other": {"command": "x"},\n    },\n}\n'
JSON_EDITORS = {
    "zed": "config/zed/settings.json",
    "vscode": "config/Code/User/settings.json",
    "vscodium": "config/VSCodium/User/settings.json",
    "cursor": "config/Cursor/User/settings.json",
    "windsurf": "config/Windsurf/User/settings.json",
    "code-server": "data/code-server/User/settings.json",
    "jetbrains": ".jetbrains/acp.json",
    "kate": "config/kate/lspclient/settings.json",
    "sublime": "config/sublime-text/Packages/User/LSP.sublime-settings",
}
EDITORS = JSON_EDITORS | {"neovim": "config/nvim/plugin/sould.lua", "emacs": ".emacs.d/init.el"}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def zed(user: User, text: str) -> Path:
    return write(user.home / JSON_EDITORS["zed"], text)


def tree(home: Path) -> dict[str, bytes]:
    """Every file of the user's, but for the daemon's own."""
    found = (Path(folder, name) for folder, _, names in os.walk(home) for name in names)
    own = {home / name for name in ("state", "run", "project", "cache")}
    return {str(file): file.read_bytes() for file in found if not own & set(file.parents)}


def done(user: User, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    ended = user.sould("setup", *arguments, env=env)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def refused(user: User, *arguments: str) -> str:
    before = tree(user.home)
    ended = user.sould("setup", *arguments)
    assert ended.returncode == 1, ended.stdout
    assert tree(user.home) == before
    return ended.stderr


def test_an_entry_is_added_and_the_rest_stays(user: User) -> None:
    path = zed(user, MINE)
    said = done(user, "zed")
    assert "sould is set up" in said
    ours = f'"sould": {{\n            "type": "custom",\n            "command": "{SOULD}",\n'
    assert ours in path.read_text()
    for line in MINE.splitlines():
        assert line in path.read_text().splitlines()
    assert path.with_name("settings.json.sould-backup").read_text() == MINE


def test_a_second_time_changes_nothing(user: User) -> None:
    zed(user, MINE)
    done(user, "zed")
    before = tree(user.home)
    assert "set up already" in done(user, "zed")
    assert tree(user.home) == before


def test_a_dry_run_shows_the_difference_and_writes_nothing(user: User) -> None:
    zed(user, MINE)
    before = tree(user.home)
    said = done(user, "zed", "--dry-run")
    assert '+        "sould": {' in said
    assert '     "theme": "One Dark", // dark' in said
    assert tree(user.home) == before


@pytest.mark.parametrize("editor", EDITORS)
def test_undo_leaves_nothing_where_nothing_was(user: User, editor: str) -> None:
    before = tree(user.home)
    done(user, editor)
    assert user.home / EDITORS[editor] in map(Path, tree(user.home))
    done(user, editor, "--undo")
    assert tree(user.home) == before
    assert not (user.home / EDITORS[editor]).parent.exists()


@pytest.mark.parametrize("text", [MINE, MINE.replace("\n", "\r\n"), "\ufeff{}", "{}", "", "// nothing\n", "{\n}"])
def test_undo_gives_the_bytes_that_were_there(user: User, text: str) -> None:
    zed(user, text)
    before = tree(user.home)
    done(user, "zed")
    done(user, "zed", "--undo")
    assert tree(user.home) == before


def test_undo_keeps_what_the_user_did_since(user: User) -> None:
    path = zed(user, "{}\n")
    done(user, "zed")
    written = path.read_text()
    path.write_text(written[: written.rindex("\n}")] + ',\n  "font": 12 // mine\n}\n')
    done(user, "zed", "--undo")
    assert path.read_text().split() == ["{", '"font":', "12", "//", "mine", "}"]


def test_undo_without_setup_says_so(user: User) -> None:
    zed(user, MINE)
    assert "nothing to take back" in refused(user, "zed", "--undo")


def test_an_entry_of_the_users_that_works_is_left_alone(user: User) -> None:
    link = user.home / "bin" / "sould"
    link.parent.mkdir()
    link.symlink_to(SOULD)
    text = json.dumps({"agent_servers": {"sould": {"command": "sould", "args": ["acp"]}}})
    path = zed(user, text)
    assert "set up already" in done(user, "zed", env={"PATH": f"{link.parent}:{user.environment['PATH']}"})
    assert path.read_text() == text


def test_an_entry_whose_program_is_gone_is_mended_and_comes_back(user: User) -> None:
    entry = {"command": "/gone/sould", "args": ["acp"], "env": {"KEY": "x"}, "default_mode": "ask"}
    path = zed(user, json.dumps({"agent_servers": {"sould": entry}}, indent=2))
    before = path.read_text()
    done(user, "zed")
    mended = json.loads(path.read_text())["agent_servers"]["sould"]
    assert mended == {**entry, "type": "custom", "command": str(SOULD)}
    done(user, "zed", "--undo")
    assert path.read_text() == before


def test_jetbrains_gets_a_full_path_where_it_had_none(user: User) -> None:
    path = write(
        user.home / JSON_EDITORS["jetbrains"], '{"agent_servers": {"sould": {"command": "sould", "args": ["acp"]}}}'
    )
    done(user, "jetbrains")
    assert json.loads(path.read_text())["agent_servers"]["sould"]["command"] == str(SOULD)


@pytest.mark.parametrize("editor", JSON_EDITORS)
def test_what_is_written_is_json_that_starts_sould(user: User, editor: str) -> None:
    done(user, editor)
    text = (user.home / JSON_EDITORS[editor]).read_text()
    assert str(SOULD) in text
    json.loads(text)
    assert "answers: sould " in done(user, editor, "--check")


@pytest.mark.parametrize("editor", EDITORS)
def test_doctor_sees_what_setup_wrote(user: User, editor: str) -> None:
    assert user.finding("editors")["level"] == "warn"
    done(user, editor)
    assert user.finding("editors")["level"] == "ok"


# --- checking ---------------------------------------------------------------------------------------------------------


def settings(user: User, **entry: Any) -> None:
    zed(user, json.dumps({"agent_servers": {"sould": entry}}))


def program(user: User, text: str) -> str:
    path = write(user.home / "bin" / "sould", f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_check_before_setup_says_what_to_do(user: User) -> None:
    said = refused(user, "zed", "--check")
    assert "does not name sould" in said
    assert "sould setup zed" in said


def test_a_check_names_a_program_that_is_gone(user: User) -> None:
    settings(user, command="/gone/sould", args=["acp"])
    assert "the command '/gone/sould' is not there" in refused(user, "zed", "--check")


def test_a_check_shows_the_last_words_of_a_program_that_ends(user: User) -> None:
    settings(user, command=program(user, "echo first >&2; echo 'no module named sould' >&2; exit 3"), args=["acp"])
    assert "ended without an answer: no module named sould" in refused(user, "zed", "--check")


def test_a_check_is_not_taken_in_by_another_program(user: User) -> None:
    answer = '{"jsonrpc":"2.0","id":0,"result":{"agentInfo":{"name":"other"}}}'
    settings(user, command=program(user, f"echo '{answer}'; cat > /dev/null"), args=["acp"])
    assert "what answers is not sould, but other" in refused(user, "zed", "--check")


def test_a_check_has_the_environment_of_the_settings(user: User) -> None:
    settings(user, command=program(user, 'echo "KEY is $KEY" >&2'), args=["acp"], env={"KEY": "given"})
    assert "KEY is given" in refused(user, "zed", "--check")


# --- files that are not as they should be ------------------------------------------------------------------------------


def test_settings_that_cannot_be_read_are_left_with_what_to_write_by_hand(user: User) -> None:
    zed(user, '{\n  "theme": \n}')
    said = refused(user, "zed")
    assert "line 3: a value was expected" in said
    assert '"agent_servers": {' in said
    assert f'"command": "{SOULD}"' in said


@pytest.mark.parametrize("text", ["[]", '{"agent_servers": []}', '{"agent_servers": null}', "{}{}", "\ud7ff{"])
def test_settings_of_another_shape_are_refused(user: User, text: str) -> None:
    zed(user, text)
    assert "Nothing was changed" in refused(user, "zed")


def test_a_file_that_is_not_utf8_is_refused(user: User) -> None:
    path = zed(user, "")
    path.write_bytes(b'{"a": "\xff"}')
    assert "not written in UTF-8" in refused(user, "zed")


def test_a_huge_file_is_refused(user: User) -> None:
    zed(user, "{}" + " " * 5_000_000)
    assert "more than a configuration should" in refused(user, "zed")


def test_a_directory_in_its_place_is_refused(user: User) -> None:
    (user.home / JSON_EDITORS["zed"]).mkdir(parents=True)
    assert "is a directory" in refused(user, "zed")


def test_a_circle_of_links_is_refused(user: User) -> None:
    path = zed(user, "")
    path.unlink()
    path.symlink_to(path)
    ended = user.sould("setup", "zed")
    assert ended.returncode == 1
    assert "circle of links" in ended.stderr


def test_a_pipe_is_refused_without_waiting_for_it(user: User) -> None:
    path = zed(user, "")
    path.unlink()
    os.mkfifo(path)
    ended = user.sould("setup", "zed")
    assert ended.returncode == 1
    assert "no regular file" in ended.stderr


def test_a_read_only_file_stays_as_it_is(user: User) -> None:
    path = zed(user, MINE)
    path.chmod(0o444)
    said = refused(user, "zed")
    assert "is read-only" in said
    assert '"sould": {' in said


def test_a_dotfile_of_two_names_keeps_both(user: User) -> None:
    path = zed(user, MINE)
    (user.home / "dotfiles").mkdir()
    other = user.home / "dotfiles" / "zed.json"
    other.hardlink_to(path)
    done(user, "zed")
    assert '"sould"' in other.read_text()
    done(user, "zed", "--undo")
    assert other.read_text() == MINE
    assert other.samefile(path)


def test_a_linked_dotfile_stays_a_link_and_keeps_its_mode(user: User) -> None:
    real = write(user.home / "dotfiles" / "zed.json", MINE)
    real.chmod(0o640)
    path = zed(user, "")
    path.unlink()
    path.symlink_to(real)
    done(user, "zed")
    assert path.readlink() == real
    assert '"sould"' in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    done(user, "zed", "--undo")
    assert path.readlink() == real
    assert real.read_text() == MINE


def test_the_copy_beside_it_is_for_the_user_alone(user: User) -> None:
    path = zed(user, MINE)
    done(user, "zed")
    backup = path.with_name("settings.json.sould-backup")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_without_home_the_systems_one_counts(user: User) -> None:
    done(user, "zed", "--dry-run", env={"HOME": ""})


def test_two_at_once_leave_one_entry(user: User) -> None:
    path = zed(user, MINE)
    with ThreadPoolExecutor(4) as pool:
        ended = [pool.submit(user.sould, "setup", "zed") for _ in range(4)]
    assert [each.result().returncode for each in ended] == [0, 0, 0, 0]
    assert path.read_text().count('"sould"') == 1
    done(user, "zed", "--undo")
    assert path.read_text() == MINE


# --- Emacs and Neovim --------------------------------------------------------------------------------------------------

INIT = ";;; init.el --- mine -*- lexical-binding: t -*-\n(setq a \"(\" b ?\\( c '[1]) ; (\n(provide 'init)\n;;; init.el ends here\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_undo_gives_the_init_file_that_was_there(user: User, newline: str) -> None:
    text = INIT.replace("\n", newline) + f"{newline};; Local Variables:{newline};; eval: (a){newline};; End:{newline}"
    path = write(user.home / ".emacs.d/init.el", text)
    done(user, "emacs")
    assert path.read_bytes().endswith(text[text.index("(provide") :].encode())
    done(user, "emacs", "--undo")
    assert path.read_bytes().decode() == text


def test_the_init_file_of_emacs_gets_a_block_before_its_last_lines(user: User) -> None:
    path = write(user.home / ".emacs.d/init.el", INIT)
    done(user, "emacs")
    text = path.read_text()
    assert text.startswith(INIT.split("(provide")[0])
    assert text.endswith("(provide 'init)\n;;; init.el ends here\n")
    assert f'\'("{SOULD}")' in text
    path.write_text(text.replace("mine", "changed"))
    done(user, "emacs", "--undo")
    assert path.read_text() == INIT.replace("mine", "changed")


@pytest.mark.parametrize("broken", ["(setq a\n", "(setq a))\n", '(setq a "x)\n', "(setq a ]"])
def test_an_init_file_in_which_a_block_would_be_lost_is_refused(user: User, broken: str) -> None:
    write(user.home / ".emacs.d/init.el", broken)
    assert "no Emacs Lisp" in refused(user, "emacs")


@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        ([".emacs"], ".emacs"),
        ([".emacs.el", ".emacs"], ".emacs.el"),
        (["config/emacs/init.el"], "config/emacs/init.el"),
        (["config/emacs/init.el", ".emacs.d/x"], ".emacs.d/init.el"),
        ([".emacs.d/bin/doom", ".doom.d/config.el"], ".doom.d/config.el"),
        (["config/emacs/bin/doom", "config/doom/config.el"], "config/doom/config.el"),
    ],
)
def test_the_file_that_emacs_reads_is_the_one(user: User, there: list[str], chosen: str) -> None:
    for name in there:
        write(user.home / name, "")
    done(user, "emacs")
    assert "global-sould-mode" in (user.home / chosen).read_text()


def test_spacemacs_has_a_place_of_its_own(user: User) -> None:
    write(user.home / ".emacs.d/core/core-spacemacs.el", "")
    said = refused(user, "emacs")
    assert "dotspacemacs/user-config" in said
    assert "(global-sould-mode 1)" in said


def test_a_file_of_the_users_in_neovims_place_is_left_alone(user: User) -> None:
    write(user.home / EDITORS["neovim"], "-- mine\n")
    assert "which setup did not write" in refused(user, "neovim")


def test_neovim_under_another_name_has_a_configuration_of_its_own(user: User) -> None:
    done(user, "neovim", env={"NVIM_APPNAME": "work"})
    assert (user.home / "config/work/plugin/sould.lua").exists()


# --- without an argument -----------------------------------------------------------------------------------------------


def test_alone_without_a_terminal_it_says_what_could_be_done(user: User) -> None:
    zed(user, MINE)
    before = tree(user.home)
    assert done(user, env={"PATH": "/nowhere"}) == "Zed: sould setup zed\n"
    assert tree(user.home) == before


def test_alone_where_no_editor_is_it_names_them(user: User) -> None:
    ended = user.sould("setup", env={"PATH": "/nowhere"})
    assert ended.returncode == 1
    assert "sould setup zed|vscode|" in ended.stderr


def test_alone_at_a_terminal_it_asks_for_each(user: User) -> None:
    path = zed(user, MINE)
    kate = user.home / JSON_EDITORS["kate"]
    kate.parent.mkdir(parents=True)
    with terminal(user, "setup", env={"PATH": "/usr/bin:/bin"}) as shown:
        shown.expect("Connect Zed?")
        shown.type("y")
        shown.expect("sould is set up")
        shown.expect("Connect Kate?")
        shown.type("n")
        shown.expect("No model is set up yet")
        shown.type("n")
        shown.expect("Later: sould login")
        assert shown.wait() == 0
    assert '"sould"' in path.read_text()
    assert not kate.exists()


# --- the first model ---------------------------------------------------------------------------------------------------


def test_somebody_without_a_model_can_store_a_key_at_once(user: User) -> None:
    with terminal(user, "setup", "zed") as shown:
        shown.expect("No model is set up yet")
        shown.expect("[1] A key, or a sign-in")
        shown.type("1")
        shown.expect("Provider (kimi, openai, openrouter)")
        shown.type("openai")
        shown.expect("not shown")
        shown.type("sk-0123456789")
        shown.expect("[y/N]")
        shown.type("y")
        shown.expect("Try: sould run")
        assert shown.wait() == 0
    with terminal(user, "setup", "zed") as shown:
        shown.expect("set up already")
        assert shown.wait() == 0
    assert "No model" not in shown.seen


def test_somebody_with_a_server_of_their_own_gets_its_models(user: User) -> None:
    with model_server() as url, terminal(user, "setup", "zed") as shown:
        shown.expect("No model is set up yet")
        shown.type("2")
        shown.expect("Its address")
        shown.type(url)
        shown.expect("Try: sould run")
        assert shown.wait() == 0
    config = tomllib.loads((user.config / "config.toml").read_text())
    assert config["providers"]["local"] == {"type": "openai_compatible", "base_url": url}
    assert config["default_model"] == "local/test-model"


def test_a_server_that_is_not_there_is_said(user: User) -> None:
    with terminal(user, "setup", "zed") as shown:
        shown.expect("No model is set up yet")
        shown.type("2")
        shown.expect("Its address")
        shown.type("http://127.0.0.1:9/v1")
        shown.expect("No model server answers at http://127.0.0.1:9/v1")
        assert shown.wait() == 0
    assert not (user.config / "config.toml").exists()


# --- VS Code's extension -----------------------------------------------------------------------------------------------


def test_an_extension_is_installed_by_vs_code_itself(user: User) -> None:
    file = write(user.home / "sould.vsix", "")
    write(user.home / "bin" / "code", f'#!/bin/sh\necho "$@" > {user.home}/called\n').chmod(0o755)
    path = f"{user.home}/bin:{user.environment['PATH']}"
    assert "the extension is installed" in done(user, "vscode", "--vsix", str(file), env={"PATH": path})
    assert (user.home / "called").read_text() == f"--install-extension {file}\n"


def test_an_extension_without_vs_code_is_told_how(user: User) -> None:
    file = write(user.home / "sould.vsix", "")
    ended = user.sould("setup", "vscode", "--vsix", str(file), env={"PATH": "/nowhere"})
    assert ended.returncode == 1
    assert "Install from VSIX" in ended.stderr

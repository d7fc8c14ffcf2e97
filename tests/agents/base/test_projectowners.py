"""What others than the user can write in a project is found by owner and mode, by the rules that git has for its own trust."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.base.projectowners import Owners, is_safe
from soultest.gitinit import git_init

OTHER = 65534
PLAIN: Mapping[str, str] = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
ME = Owners(PLAIN)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "top" / "folder" / "AGENTS.md"
    path.parent.mkdir(parents=True)
    path.write_text("x")
    for each in (path, *path.parents[:2]):
        each.chmod(0o700)
    return path


def others(file: Path, owners: Owners = ME) -> str:
    return owners.others(file, file.parents[1])


@pytest.mark.parametrize("mode", [0o702, 0o777, 0o773])
@pytest.mark.parametrize("above", [0, 1, 2])
def test_what_everybody_can_write_is_named_wherever_it_is_on_the_way(mode: int, above: int, file: Path) -> None:
    assert others(file) == ""
    step = (file, *file.parents)[above]
    step.chmod(mode)
    assert others(file) == (
        f"{step}, where it lies, can be written by everybody" if above else "it can be written by everybody"
    )
    file.parents[1].parent.chmod(0o777)
    step.chmod(0o700)
    assert others(file) == "", (
        "what is above the project's top is not looked at: whoever replaces the top owns the new one"
    )


def test_a_directory_like_tmp_lets_nobody_replace_what_is_another_s(file: Path) -> None:
    file.parent.chmod(0o1777)
    file.parents[1].chmod(0o3777)
    assert others(file) == ""


def test_where_a_link_leads_counts_as_well(file: Path) -> None:
    real = file.parents[1] / "real"
    real.mkdir(mode=0o700)
    file.rename(real / "AGENTS.md")
    file.symlink_to("../real/AGENTS.md")
    assert others(file) == ""
    real.chmod(0o777)
    assert others(file) == f"{real}, where it lies, can be written by everybody"
    file.unlink()
    assert others(file) == ""


@pytest.mark.needs_root
@pytest.mark.parametrize("above", [0, 1, 2])
def test_the_owner_is_named(above: int, file: Path) -> None:
    step = (file, *file.parents)[above]
    os.chown(step, OTHER, -1)
    assert others(file).endswith(f"belongs to nobody (uid {OTHER})")
    os.chown(step, 54321, -1)
    assert others(file).endswith("belongs to uid 54321")


@pytest.mark.needs_root
def test_the_owner_of_a_link_is_one_too(file: Path) -> None:
    file.rename(file.with_name("real"))
    file.symlink_to("real")
    os.lchown(file, OTHER, -1)
    assert others(file) == f"it belongs to nobody (uid {OTHER})"


@pytest.mark.needs_root
def test_a_group_counts_as_others_unless_it_is_the_user_s_alone(file: Path) -> None:
    file.chmod(0o660)
    assert others(file) == "", "root's own group"
    os.chown(file, -1, OTHER)
    assert others(file).startswith("it can be written by the group ")
    file.chmod(0o640)
    assert others(file) == ""


@pytest.mark.needs_root
def test_who_became_root_by_sudo_has_what_is_theirs_and_root_s(file: Path) -> None:
    for step in (file, *file.parents[:2]):
        os.chown(step, OTHER, -1)
    assert others(file) != ""
    assert others(file, Owners({**PLAIN, "SUDO_UID": str(OTHER)})) == ""
    for said in ("", "-1", "x", "65533", "٦٥٥٣٤", "9" * 40):
        assert others(file, Owners({**PLAIN, "SUDO_UID": said})) != ""
    os.chown(file, 0, -1)
    assert others(file, Owners({**PLAIN, "SUDO_UID": str(OTHER)})) == ""


def test_what_git_was_told_is_safe_is_so_here(file: Path, tmp_path: Path) -> None:
    file.chmod(0o777)
    config = tmp_path / "config"
    environment = {**PLAIN, "GIT_CONFIG_GLOBAL": str(config)}
    assert others(file, Owners(environment)) != ""
    config.write_text(f"[safe]\n\tdirectory = {file.parents[1]}\n")
    assert others(file, Owners(environment)) == ""
    assert file.parents[1].is_dir()
    assert Owners(environment).others(file, file.parent) != "", "it is said of another directory"


def git_agrees(top: Path, environment: Mapping[str, str]) -> bool:
    """Whether git works there as if it belonged to somebody else."""
    told = {"PATH": os.environ["PATH"], "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", **environment}
    return (
        subprocess.run(
            ["git", "rev-parse", "--git-dir"], cwd=top, env=told, capture_output=True, check=False
        ).returncode
        == 0
    )


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("", False),
        ("[safe]\ndirectory=*", True),
        ("[SAFE]\n\tDirectory = *  ; all", True),
        ("[safe] directory = *", True),
        ('[safe]\ndirectory = "*" # all', True),
        ("[safe]\ndirectory = *\ndirectory =", False),
        ("[safe]\ndirectory = *\ndirectory", False),
        ("[safe]\ndirectory =\ndirectory = *", True),
        ('[safe "x"]\ndirectory = *', False),
        ("[save]\ndirectory = *", False),
        ("[safe]\n# directory = *", False),
        ("[safe]\ndirectory = TOP", True),
        ('[safe]\ndirectory = "TOP"', True),
        ("[safe]\ndirectory = T\\\nOP", False),
        ("[safe]\ndirectory = TOP/x", False),
        ("[safe]\ndirectory = ABOVE", False),
        ("[safe]\ndirectory = ~/top", True),
        ("[safe]\ndirectory = \\\n  TOP", True),
        ("[safe]\nbareRepository = all\n[user]\nname = x\n[safe]\ndirectory = TOP", True),
        ("[include]\npath = more", True),
        ("[include]\npath = ~/more", True),
        ("[include]\npath = config", False),
        ("[include]\npath = gone", False),
        ("[include]\npath = more\n[safe]\ndirectory =", False),
    ],
)
def test_the_configuration_is_read_as_git_reads_it(text: str, safe: bool, tmp_path: Path) -> None:
    top = git_init(tmp_path / "top")
    (tmp_path / "more").write_text("[safe]\ndirectory = *\n")
    config = tmp_path / "config"
    config.write_text(text.replace("TOP", str(top)).replace("ABOVE", str(tmp_path)))
    environment = {**PLAIN, "GIT_CONFIG_GLOBAL": str(config), "HOME": str(tmp_path)}
    assert is_safe(top, environment) is safe
    if text != "[include]\npath = config":  # git refuses a circle
        assert git_agrees(top, environment) is safe


def test_all_below_a_directory_can_be_called_safe(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(f"[safe]\ndirectory = {tmp_path}/*\n")
    environment = {**PLAIN, "GIT_CONFIG_GLOBAL": str(config)}
    assert is_safe(tmp_path / "a" / "b", environment)
    assert not is_safe(tmp_path, environment)
    assert not is_safe(tmp_path.with_name(f"{tmp_path.name}x"), environment)


@pytest.mark.parametrize("place", [".gitconfig", ".config/git/config", "xdg/git/config", "system", "variables"])
def test_every_place_that_git_reads_counts_and_a_repository_s_own_does_not(place: str, tmp_path: Path) -> None:
    top, said = git_init(tmp_path / "top"), "[safe]\ndirectory = *\n"
    environment = {"GIT_CONFIG_NOSYSTEM": "1", "HOME": str(tmp_path)}
    if place == "xdg/git/config":
        environment["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    elif place == "system":
        environment = {"GIT_CONFIG_SYSTEM": str(tmp_path / place), "HOME": str(tmp_path)}
    elif place == "variables":
        environment |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "Safe.Directory", "GIT_CONFIG_VALUE_0": "*"}
    with (top / ".git" / "config").open("a") as own:
        own.write(said)
    assert is_safe(top, environment) is git_agrees(top, environment) is (place == "variables")
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text(said)
    assert is_safe(top, environment)
    assert git_agrees(top, environment)
    if place == "system":
        assert not is_safe(top, {**environment, "GIT_CONFIG_NOSYSTEM": "true"})


WRITTEN = st.text(st.sampled_from('[]safe=*dirctoy"\\#; \t\n~/.x'), max_size=60)


@given(
    text=WRITTEN,
    values=st.lists(st.sampled_from(["*", "", "/", "TOP", "TOP/", "TOP/*", "~", "x", "TOP/../top"]), max_size=4),
)
def test_whatever_is_written_there_is_read_without_an_error_and_the_last_word_counts(
    tmp_path_factory: pytest.TempPathFactory, text: str, values: Sequence[str]
) -> None:
    top = tmp_path_factory.getbasetemp() / "top"
    config = tmp_path_factory.getbasetemp() / "config"
    lines = [f"\tdirectory = {value.replace('TOP', str(top))}" for value in values]
    config.write_text("\n".join((text, "[safe]", "directory=", *lines)))
    environment = {**PLAIN, "GIT_CONFIG_GLOBAL": str(config), "HOME": str(top.parent)}
    after = values[len(values) - values[::-1].index("") :] if "" in values else values
    naming: Callable[[str], bool] = {"*", "TOP", "TOP/", "TOP/../top"}.__contains__
    if not text.rstrip(" \t").endswith("\\"):
        assert is_safe(top, environment) is any(map(naming, after))

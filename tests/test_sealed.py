"""What the person who runs the tests has set up is nothing that a test could see."""

import subprocess
import tempfile
from pathlib import Path

import pytest

from soultest.sealed import ABOVE, NoPlaceError, free_place, sealed


def test_of_the_environment_only_what_was_named_is_left() -> None:
    given = {
        **dict.fromkeys(
            ("GIT_DIR", "EDITOR", "OPENAI_API_KEY", "XDG_CONFIG_HOME", "LC_ALL", "SOULD_CONFIG", "CDPATH"), "x"
        ),
        "CI": "true",
        "https_proxy": "p",
        "PIP_INDEX_URL": "i",
        "SOULD_SEED": "7",
        "HOME": "/users/a",
        "PATH": "bin:/users/a/bin:/usr/bin::/usr/bin:/bin",
    }
    left = sealed(given, "/t/h", "/t")
    kept = {"CI": "true", "https_proxy": "p", "PIP_INDEX_URL": "i", "SOULD_SEED": "7"}
    places = {"HOME": "/t/h", "TMPDIR": "/t", "PATH": "/usr/bin:/bin"}
    own = {"LANG": "C.UTF-8", "TZ": "UTC", "SHELL": "/bin/bash", "GIT_CONFIG_NOSYSTEM": "1", "SOULD_SEALED": "1"}
    assert left == kept | places | own


def test_a_registry_named_in_a_home_is_still_found(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").touch()
    left = sealed({"HOME": str(tmp_path), "PATH": "/bin"}, "/t/h", "/t")
    assert left["npm_config_userconfig"] == str(tmp_path / ".npmrc")
    assert "PIP_CONFIG_FILE" not in left


def test_no_project_is_above_a_test(tmp_path: Path) -> None:
    assert [above / name for above in tmp_path.parents for name in ABOVE if (above / name).exists()] == []
    assert tmp_path.is_relative_to(tempfile.gettempdir())


def test_git_has_no_configuration_but_that_of_a_test() -> None:
    said = subprocess.run(["git", "config", "--list"], cwd="/", capture_output=True, text=True)
    assert (said.stdout, said.stderr) == ("", "")


@pytest.mark.parametrize("name", ABOVE)
def test_a_temporary_directory_in_a_project_is_not_taken(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / "below").mkdir()
    given = [str(tmp_path / "below"), str(tmp_path)]
    with pytest.raises(NoPlaceError, match="none of"):
        free_place(given)
    assert free_place([*given, tempfile.gettempdir()]) == tempfile.gettempdir()

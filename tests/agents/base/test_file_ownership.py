"""The user's own configuration counts only while nobody else can change it, and says how to fix that."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sould.agents.base.file_ownership import why_not_own

OTHER = 65534


def its_mode(file: Path) -> Path:
    file.chmod(0o666)
    return file


def its_directory(file: Path) -> Path:
    file.parent.chmod(0o777)
    return file.parent


def a_directory_above(file: Path) -> Path:
    file.parent.parent.chmod(0o757)
    return file.parent.parent


def where_a_link_leads(file: Path) -> Path:
    real = file.parent.parent.parent / "dotfiles"
    real.mkdir()
    file.rename(real / "file")
    file.symlink_to("../../dotfiles/file")
    real.chmod(0o777)
    return real


def where_a_link_to_a_directory_stands(file: Path) -> Path:
    middle = file.parent.parent
    file.parent.rename(middle.parent / "real")
    file.parent.symlink_to(middle.parent / "real")
    middle.chmod(0o777)
    return middle


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config" / "sould" / "file"
    path.parent.mkdir(parents=True)
    path.write_text("x")
    for each in (path, *path.parents[:3]):
        each.chmod(0o700)
    return path


@pytest.mark.parametrize(
    "harm", [its_mode, its_directory, a_directory_above, where_a_link_leads, where_a_link_to_a_directory_stands]
)
def test_what_others_may_write_or_replace_is_named_with_the_command_that_mends_it(
    file: Path, harm: Callable[[Path], Path]
) -> None:
    assert why_not_own(file) == ""
    culprit = harm(file)
    said = why_not_own(file)
    assert f"{culprit} may be written by other users" in said
    subprocess.run(said.split("`")[1], shell=True, check=True)
    assert why_not_own(file) == ""


@pytest.mark.needs_root
@pytest.mark.parametrize("level", [0, 1, 2])
def test_what_belongs_to_somebody_else_is_named_with_the_command_that_mends_it(file: Path, level: int) -> None:
    culprit = (file, *file.parents)[level]
    os.chown(culprit, OTHER, -1)
    assert f"{culprit} belongs to uid {OTHER}" in why_not_own(file)
    assert f"`sudo chown 0 {culprit}`" in why_not_own(file)
    os.chown(culprit, 0, -1)
    assert why_not_own(file) == ""


@pytest.mark.needs_root
def test_a_group_counts_as_others_unless_it_is_the_users_alone(file: Path) -> None:
    file.chmod(0o664)
    assert why_not_own(file) == "", "root's own group"
    os.chown(file, -1, OTHER)
    assert "chmod go-w" in why_not_own(file)


def test_in_a_directory_like_tmp_others_can_replace_nothing_of_ours_and_what_is_missing_is_nobodys(file: Path) -> None:
    file.parent.chmod(0o1777)
    assert why_not_own(file) == ""
    assert why_not_own(file.with_name("missing")) == ""
    circle = file.with_name("circle")
    circle.symlink_to(circle)
    assert why_not_own(circle) == ""

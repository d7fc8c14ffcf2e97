"""Patches that a model is told."""

import pytest

from sould.agents.files.projects.patches import patch


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a\nb\nc\n", "a\nb\nC\n", ["@@ -1,3 +1,3 @@", " a", " b", "-c", "+C"]),
        ("a\nb", "a\nb\n", ["@@ -1,2 +1,2 @@", " a", "-b", "\\ No newline at end of file", "+b"]),
        ("", "a", ["@@ -0,0 +1 @@", "+a", "\\ No newline at end of file"]),
    ],
)
def test_a_patch_has_the_lines_that_there_are_and_says_where_the_last_one_has_no_end(
    before: str, after: str, lines: list[str]
) -> None:
    assert patch(before, after, "old", "new").splitlines()[2:] == lines

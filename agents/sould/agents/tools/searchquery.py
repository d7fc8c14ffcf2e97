"""What a search program is asked: the arguments of ripgrep, or the request of our own program, which means the same."""

from collections.abc import Sequence
from typing import Final

import orjson
from msgspec import Struct

from sould.agents.base.textencoding import Encoding
from sould.agents.tools.globmatch import VCS, expand_braces

MOST_LINES: Final = 20
"""Lines of a file that tell its encoding."""


class SearchQuery(Struct, frozen=True):
    """`around` are lines of context before and after; `never` globs, without case, of files that are not opened."""

    pattern: str
    globs: tuple[str, ...] = ()
    type: str | None = None
    never: Sequence[str] = ()
    around: tuple[int, int] = (0, 0)
    ignore_case: bool = False
    multiline: bool = False
    include_ignored: bool = False
    first_only: bool = False
    """Of each file only the first line that matches."""
    by_ending: bool = False
    """`type` is what files end in."""
    not_utf_8: bool = False
    """Look for lines that are not in UTF-8, in place of the pattern."""
    files: tuple[str, ...] = ()
    """Search in these, else below the working directory."""
    encoding: Encoding | None = None
    """What the files are in; None: UTF-8, or what their mark says."""

    def arguments(self) -> list[str]:
        """For ripgrep."""
        before, after = self.around
        arguments = ["--json", "--no-config", "--no-messages", "--hidden", "--no-require-git", "--crlf", "--threads=2"]
        arguments += [f"--before-context={before}", f"--after-context={after}"]
        arguments += [f"--glob={glob}" for glob in self._all_globs()]
        arguments += [f"--iglob=!{'**/' if '/' in glob else ''}{glob}" for glob in self.never]
        if self.type is not None:
            arguments += [f"--type-add={self.type}:*.{self.type}"] if self.by_ending else []
            arguments.append(f"--type={self.type}")
        if self.include_ignored:
            arguments.append("--no-ignore")
        if self.encoding is not None:
            arguments.append(f"--encoding={self.encoding.name}")
        if self.not_utf_8:
            return [*arguments, f"--max-count={MOST_LINES}", "--invert-match", "--regexp=^.*$", "--", *self._places()]
        if self.ignore_case:
            arguments.append("--ignore-case")
        if self.multiline:
            arguments += ["--multiline", "--multiline-dotall"]
        if self.first_only:
            arguments.append("--max-count=1")
        return [*arguments, f"--regexp={self.pattern}", "--", *self._places()]

    def _all_globs(self) -> tuple[str, ...]:
        """The given ones and those that hide version control."""
        return (*self.globs, *(f"!{name}" for name in sorted(VCS)))

    def _places(self) -> tuple[str, ...]:
        return self.files or ("./",)

    def request(self) -> bytes:
        """For our own program."""
        before, after = self.around
        return orjson.dumps(
            {
                "pattern": self.pattern,
                "files": self.files,
                "passed_over": [one for glob in self.never for one in expand_braces(glob)],
                "globs": [one for glob in self._all_globs() for one in expand_braces(glob)],
                "type": self.type,
                "by_ending": self.by_ending,
                "before": before,
                "after": after,
                "ignore_case": self.ignore_case,
                "multiline": self.multiline,
                "include_ignored": self.include_ignored,
                "first_only": self.first_only,
                "not_utf_8": self.not_utf_8,
                "codec": self.encoding.codec if self.encoding is not None else "",
            }
        )

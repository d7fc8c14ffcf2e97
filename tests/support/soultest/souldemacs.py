"""Emacs with sould's own package, set up as its page says."""

import re
from pathlib import Path
from typing import Any, Protocol

from soultest.daemon import until
from soultest.editors.emacs import Emacs
from soultest.screen import PATIENCE

HOUSE = Path(__file__).parents[3]
PAGE = HOUSE / "docs" / "editors" / "emacs.md"
PACKAGE = HOUSE / "editors" / "emacs"
VERSIONS = ("28", "30")


class OpenEmacs(Protocol):
    """Opens an Emacs that ends with the test."""

    def __call__(self, file: str, more: str = "", name: str = "emacs") -> Emacs:
        """With a file of the project, and `more` settings than the page's. Returns when the package is connected."""
        ...


def settings() -> str:
    """The page's settings block, for this copy of the repository."""
    block = re.findall(r"^```elisp\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[0]
    assert "~/src/sould" in block
    return block.replace("~/src/sould", str(HOUSE))


def connected(emacs: Emacs) -> None:
    """Wait until the package has its server's answer."""
    until(lambda: emacs.lisp("(and sould-mode (sould-project-ready (sould-project-current)) t)"), PATIENCE, "sould")


_HUNKS = """
(vconcat (mapcar (lambda (overlay)
  (list :line (line-number-at-pos (overlay-start overlay))
        :removed (replace-regexp-in-string "^ " "" (replace-regexp-in-string " \\\\'" "" (substring-no-properties
                   (or (overlay-get overlay 'before-string) ""))))
        :added (buffer-substring-no-properties (overlay-start overlay) (overlay-end overlay))))
  (sould-hunks-drawn)))"""


def hunks(emacs: Emacs) -> list[dict[str, Any]]:
    """The hunks that are drawn before the user: the line, what is shown as removed, and what is marked as added."""
    return list(emacs.lisp(_HUNKS))


def wait_hunks(emacs: Emacs, count: int) -> None:
    """Wait until so many are drawn."""
    until(lambda: len(hunks(emacs)) == count, PATIENCE, f"{count} hunks")

"""docs/review.md followed as written, with the real daemon; its table has tests of its own (`test_what_you_typed`)."""

from pathlib import Path

from soultest.daemon import Sould
from soultest.docs import follow

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_about_the_review_is_as_it_says(sould: Sould) -> None:
    follow(DOCS / "review.md", sould)

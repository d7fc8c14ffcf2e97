"""Pages as they are read where the library that finds the main text is not installed: all of their text, as Markdown."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.tools.web.fetching import PROGRAM
from sould.agents.tools.web.readmain import WHOLE, WholeText
from soultest.luck import examples

HERE = "https://example.org/docs/"
TAGS = """a article br div h1 h2 li ol p pre script style table td template tr ul unknown"""


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>Fences <i>and</i> walls</h1><h3>Wood</h3>", "# Fences and walls\n\n### Wood"),
        ("<p>Some <b>bold</b>,   text<br>second\nline &amp; more", "Some bold, text\nsecond line & more"),
        ("<p>one<p>two</p>three", "one\n\ntwo\n\nthree"),
        ("<ul><li><p>one</p></li><li>two</ul>after", "- one\n- two\n\nafter"),
        ("<pre><code>def f():\n    return 1\n</code></pre>", "```\ndef f():\n    return 1\n```"),
        ("<table><tr><th>a<th>b</tr><tr><td>1</td><td>2</td></tr></table>", "a | b\n1 | 2"),
        ("<blockquote><p>quoted</p></blockquote>", "> quoted"),
        (
            "<a href=page.html>Next</a> <a href='/top'>Top</a>",
            f"[Next]({HERE}page.html) [Top](https://example.org/top)",
        ),
        ("<a href='#part'>here</a> <a name=x>there</a> <a href='javascript:x()'>no</a>", "here there no"),
        ("<a href=x><div><img></div><div>Card</div></a><a href=y> <img> </a>", f"[Card]({HERE}x)"),
        ("see<a href=x> this <a href=y>and that", f"see [this ]({HERE}x)[and that]({HERE}y)"),
        ("<a href='http://[bad'>broken</a>", "broken"),
        ("<title>T</title><style>p {}</style><script>var a = '<p>';</script>left<noscript>off</noscript>", "left"),
        ("</ul></pre></script></a>text", "text"),
        ("", ""),
    ],
)
def test_a_page_is_read_as_markdown(html: str, text: str) -> None:
    command = [sys.executable, "-I", "-S", PROGRAM, HERE]
    ran = subprocess.run(command, input=html.encode(), capture_output=True, check=False)
    assert (ran.stdout.decode(), ran.returncode) == (text, WHOLE)


@given(
    st.lists(
        st.one_of(
            st.sampled_from([f"<{tag}>" for tag in TAGS.split()] + [f"</{tag}>" for tag in TAGS.split()]), st.text()
        )
    )
)
@settings(max_examples=examples(100))
def test_any_page_is_read(parts: list[str]) -> None:
    WholeText(HERE).read("".join(parts))


@given(
    st.lists(
        st.sampled_from([f"<{tag}>" for tag in TAGS.split() if tag not in {"script", "style", "template"}]), max_size=20
    )
)
@settings(max_examples=examples(100))
def test_no_word_that_is_shown_is_lost(tags: list[str]) -> None:
    page = "".join(f"{tag}word{n} " for n, tag in enumerate(tags))
    assert WholeText(HERE).read(page).count("word") == len(tags)


@pytest.mark.parametrize("html", ["<p>a" * 200_000, "<div>" * 200_000 + "a", "<a href=x>a" * 200_000, "a" * 2_000_000])
def test_a_large_page_is_read_within_its_limits(html: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-I", "-S", PROGRAM, HERE], input=html.encode(), capture_output=True, check=False
    )
    assert ran.returncode == WHOLE
    assert b"a" in ran.stdout

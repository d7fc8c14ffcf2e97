"""The harness that follows pages says what is wrong with one, and does what a reader would do."""

from pathlib import Path

import pytest

from soultest.daemon import Sould
from soultest.docpage import PageError
from soultest.docs import Walk, follow

FENCE = "```"


def page(directory: Path, text: str) -> Path:
    path = directory / "page.md"
    path.write_text(text.replace("~~~", FENCE))
    return path


def walk(sould: Sould, text: str) -> Walk:
    return follow(page(sould.world.root, text), sould)


GOOD = """
Make `notes/a.txt`:

~~~text
one two
~~~

~~~sh
cd notes; name=Ada
wc -w a.txt
~~~
~~~text
2 …
~~~

~~~sh
echo "$name is in ${PWD##*/}"
~~~
~~~text
Ada is in notes
~~~

<!-- exit: 3 -->
~~~sh
exit 3
~~~

<!-- not run: only to look at -->
~~~lua
print()
~~~

~~~console
$ echo a
a
$ echo b
~~~
<!-- shows: b -->

<!-- model:
tool_call: {"id": "1", "name": "WriteFile", "arguments": {"path": "b.txt", "content": "B"}}
---
text: Written.
-->
<!-- typed: y -->
~~~sh
sould run "write"
~~~
~~~text
…
? May I? Write …
...
Written.
…
~~~
~~~sh
cat b.txt; sleep 600 &
~~~
"""


def test_a_page_is_followed_to_its_end(sould: Sould) -> None:
    done = walk(sould, GOOD)
    assert done.shown.endswith("B")
    assert (sould.workspace / "notes" / "b.txt").read_text() == "B"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("~~~sh\ntrue\nfalse here\n~~~\n", "page.md:3: `false here` ended with 1, expected was 0"),
        ("~~~sh\necho a\n~~~\n~~~text\nb\n~~~\n", "page.md:2: `echo a` printed\na\n\nexpected was\nb"),
        ("~~~sh\necho a\n~~~\n<!-- shows: b -->\n", "page.md:4: no 'b' in what came:\na"),
        ("~~~lua\nprint()\n~~~\n", "page.md:2: nobody runs this lua"),
        ("<!-- not run: -->\n~~~lua\nprint()\n~~~\n", "page.md:3: say why"),
    ],
)
def test_a_page_that_is_not_as_it_says_is_named_with_its_line(sould: Sould, text: str, said: str) -> None:
    with pytest.raises(PageError) as caught:
        walk(sould, text)
    assert said in str(caught.value)

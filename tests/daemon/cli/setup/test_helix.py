"""languages.toml is edited where it stands: sould joins the lists that are there, and a block has the other languages."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.daemon.cli.setup.format import UnfitError, taken_back
from sould.daemon.cli.setup.helix import Languages

HELIX = {"python": ("ty", "ruff"), "rust": ("rust-analyzer",), "go": (), "c": ("clangd",)}
FORM = Languages("/opt/sould", HELIX.get)

PIECES = [
    '[[language]]\nname = "python" # mine\nlanguage-servers = [ "pylsp", # ] a\n  "ruff",\n]\n',
    '[[language]]\nname = "rust"\nauto-format = true\n',
    '[[language]]\nlanguage-servers = []\nname = "c"\n',
    '[[language]]\nname = "go"\nlanguage-servers = [{ name = "gopls", only-features = ["format"] }, \'x\']\n',
    '[[language]]\nname = "mine"\n[language.config]\na = [1]\n',
    '[language-server.pylsp]\ncommand = "x"\nargs = ["[[language]]"]\n',
    '[language-server.other]\ncommand = """\n[[language]]\nlanguage-servers = [\n"""\n',
    '[[grammar]]\nname = "x"\n',
    '# language-servers = ["a"]\n',
    "\n",
]
HEADS = ["", "# mine\n", 'use-grammars = { only = ["rust"] }\n']


@st.composite
def documents(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(HEADS)) + "".join(draw(st.lists(st.sampled_from(PIECES), unique=True)))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


DOCUMENTS = documents()


def servers(text: str) -> dict[str, list[Any] | None]:
    """By language; None where an entry says nothing of servers."""
    return {each["name"]: each.get("language-servers") for each in tomllib.loads(text).get("language", [])}


@given(DOCUMENTS)
def test_every_language_that_helix_knows_gets_sould_behind_its_own(text: str) -> None:
    result = FORM.added(text)
    before, has = servers(text), servers(result)
    for name, own in HELIX.items():
        listed = before.get(name)
        assert has[name] == [*(own if listed is None else listed), "sould"]
    assert tomllib.loads(result)["language-server"]["sould"] == {"command": "/opt/sould", "args": ["lsp"]}
    assert FORM.added(result) == result


@given(DOCUMENTS)
def test_no_line_of_the_users_goes(text: str) -> None:
    lines = iter(FORM.added(text).splitlines())
    for line in text.splitlines():
        start = line.split("[")[0] if "language-servers = [" in line else line.split(",")[0]
        assert any(each.startswith(start) for each in lines), line


@given(DOCUMENTS)
def test_what_came_goes_to_the_byte(text: str) -> None:
    result = FORM.added(text)
    assert taken_back(FORM, text, result, result) == text


@given(DOCUMENTS)
def test_what_came_goes_when_the_user_has_changed_other_things(text: str) -> None:
    result = FORM.added(text)
    more = '\n[[language]]\nname = "zig"\nlanguage-servers = ["zls"]\n'
    changed = result.replace("mine", "changed").replace('"pylsp"', '"pyright"') + more
    after = taken_back(FORM, text, result, changed)
    wanted = text.replace("mine", "changed").replace('"pylsp"', '"pyright"') + more
    assert tomllib.loads(after) == tomllib.loads(wanted)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[language", "cannot be read"),
        ("language = 3\n", "no list of tables"),
        ('language = [{ name = "python" }]\n', "in a way that setup does not know"),
        ('language-server = { x = { command = "x" } }\n', "cannot be read"),
        (
            '[language-server.sould]\ncommand = "mine"\n[[language]]\nname = "c"\nlanguage-servers = ["sould"]\n',
            "already",
        ),
        ('[[language]]\nname = "c"\nlanguage-servers = 3\n', "in a way that setup does not know|cannot be read"),
    ],
)
def test_what_cannot_be_edited_is_refused(text: str, why: str) -> None:
    with pytest.raises(UnfitError, match=why):
        FORM.added(text)


def test_without_helix_only_the_lists_that_are_there_are_known() -> None:
    form = Languages("/opt/sould", lambda language: None)
    assert servers(form.added(PIECES[0])) == {"python": ["pylsp", "ruff", "sould"]}
    with pytest.raises(UnfitError, match="hx"):
        form.added("")


def test_a_program_that_moved_is_written_anew_without_a_second_entry() -> None:
    first = FORM.added(PIECES[0])
    second = Languages("/new/sould", HELIX.get).added(first)
    assert tomllib.loads(second)["language-server"]["sould"]["command"] == "/new/sould"
    assert servers(second) == servers(first)


def test_a_mark_without_its_end_is_no_block_however_often_it_stands_there() -> None:
    text = "# sould: written by `sould setup helix`, taken back by `sould setup helix --undo`\n" * 20_000
    result = FORM.added(text)
    assert result.startswith(text)


@given(DOCUMENTS)
def test_what_was_there_comes_back_to_the_byte_beside_what_the_user_wrote_since(text: str) -> None:
    result = FORM.added(text)
    assert taken_back(FORM, text, result, f"# before\n{result}") == f"# before\n{text}"
    assert taken_back(FORM, text, result, f"{result}\n# later\n") == f"{text}\n# later\n"

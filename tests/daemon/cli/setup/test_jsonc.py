"""JSON with comments is edited where it stands: what is ours comes and goes, and every other byte stays."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sould.daemon.cli.setup import jsonc
from sould.daemon.cli.setup.entry import SettingsEntry
from sould.daemon.cli.setup.format import UnfitError, taken_back

VALUE: dict[str, Any] = {"command": "/opt/sould", "args": ["acp"], "env": {}}
ENTRY = SettingsEntry(("agent_servers",), "sould", VALUE)

COMMENTS = st.sampled_from(["// x\n", "// , } ]\r\n", "/* y */", '/* "z": {\n */', "//\n"])
BLANKS = st.sampled_from(["", "", " ", "\n", "\n  ", "\r\n\t", "\t"])
TRIVIA = st.lists(BLANKS | COMMENTS, max_size=3).map("".join)
NAMES = st.sampled_from(["a", "theme", "agent_servers", "sould", "servers", 'q"', "\\", "ü", "//", ""])
SCALARS = st.sampled_from(["1", "-0.5e3", "true", "null", '"x"', '"// no comment"', '"\\" , }"', '"\\u00e9"', '""'])


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    names = draw(st.lists(NAMES, max_size=3, unique=True))
    items = [
        f"{draw(TRIVIA)}{json.dumps(name)}{draw(TRIVIA)}:{draw(TRIVIA)}{draw(inner)}{draw(TRIVIA)}" for name in names
    ]
    comma = draw(st.sampled_from(["", ","])) if names else ""
    return f"{{{','.join(items)}{comma}{draw(TRIVIA)}}}"


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    items = [f"{draw(TRIVIA)}{each}{draw(TRIVIA)}" for each in draw(st.lists(inner, max_size=3))]
    return f"[{','.join(items)}{draw(st.sampled_from(['', ','])) if items else ''}{draw(TRIVIA)}]"


VALUES = st.recursive(SCALARS, lambda inner: objects(inner) | arrays(inner), max_leaves=8)
DOCUMENTS = st.tuples(st.sampled_from(["", "\ufeff"]), TRIVIA, objects(VALUES), TRIVIA).map("".join)
EMPTY = st.tuples(st.sampled_from(["", "\ufeff"]), TRIVIA).map("".join)


def added(text: str) -> str | None:
    """With our entry; None where something of the user's is in its place."""
    try:
        return ENTRY.added(text)
    except UnfitError:
        document = jsonc.parse(text)
        assert isinstance(document, dict)
        assert "agent_servers" in document
        assert not isinstance(document["agent_servers"], dict)
        return None


@given(DOCUMENTS | EMPTY)
def test_an_entry_comes_and_everything_else_stays(text: str) -> None:
    result = added(text)
    if result is None:
        return
    before: Any = jsonc.parse(text) or {}
    if not isinstance(before.get("agent_servers", {}).get("sould"), dict):
        before["agent_servers"] = {**before.get("agent_servers", {}), "sould": VALUE}
        assert jsonc.parse(result) == before
    assert jsonc.get(jsonc.parse(result), (*ENTRY.path, "command")) == "/opt/sould"
    assert ENTRY.added(result) == result


@given(DOCUMENTS | EMPTY)
def test_what_was_put_is_one_piece_among_bytes_that_stay(text: str) -> None:
    servers = jsonc.get(jsonc.parse(text), ("agent_servers",))
    result = added(text)
    if result is None or (isinstance(servers, dict) and "sould" in servers):
        return
    start = next((at for at, (a, b) in enumerate(zip(text, result, strict=False)) if a != b), len(text))
    assert result.endswith(text[start:])


@given(DOCUMENTS | EMPTY)
def test_what_came_goes_to_the_byte(text: str) -> None:
    result = added(text)
    if result is not None:
        assert taken_back(ENTRY, text, result, result) == text


@example("{/* y */}/* y */// x\n", "zoom", ())
@example('{"agent_servers": {"sould": 1}}', "zoom", ())
@given(DOCUMENTS, st.sampled_from(["zoom", "b"]), st.sampled_from([(), ("agent_servers",)]))
def test_what_came_goes_when_the_user_has_changed_other_things(text: str, name: str, inside: tuple[str, ...]) -> None:
    result = added(text)
    if result is None:
        return
    changed = jsonc.put(result, (*inside, name), [1])
    after = jsonc.parse(taken_back(ENTRY, text, result, changed))
    assert after == jsonc.parse(jsonc.put(text, (*inside, name), [1]))


@example('{"agent_servers": {"sould": 1}}')
@example('{"agent_servers": {"sould": /* mine */ "\\u00e9" // x\n}}')
@example('{"agent_servers": {"a": {"sould": 1}, "sould": [1, // two\n 2,]}}')
@given(DOCUMENTS | EMPTY)
def test_what_was_there_comes_back_to_the_byte_beside_what_the_user_wrote_since(text: str) -> None:
    result = added(text)
    if result is None:
        return
    assert taken_back(ENTRY, text, result, f"{result}\n// later\n") == f"{text}\n// later\n"
    if not text.startswith("\ufeff"):
        assert taken_back(ENTRY, text, result, f"/* later */\n{result}") == f"/* later */\n{text}"


@given(DOCUMENTS)
def test_any_member_can_be_removed_and_nothing_else_goes(text: str) -> None:
    document: Any = jsonc.parse(text)
    for name in document:
        rest = jsonc.parse(jsonc.remove(text, (name,)))
        assert rest == {other: value for other, value in document.items() if other != name}


@given(DOCUMENTS)
def test_plain_json_is_read_as_the_standard_has_it(text: str) -> None:
    plain = json.dumps(jsonc.parse(text))
    assert jsonc.parse(plain) == json.loads(plain)


@given(st.text(alphabet='{}[]",:/*\\\n a1-', max_size=30))
def test_what_is_no_document_is_refused_with_its_line(text: str) -> None:
    why = ""
    try:
        jsonc.parse(text)
    except jsonc.JsoncError as error:
        why = str(error)
    assert not why or why.startswith("line ")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{}", '{\n  "a": 1\n}'),
        ("{\n}\n", '{\n  "a": 1\n}\n'),
        ('{"b": 2}', '{"a": 1, "b": 2}'),
        ('{\n\t// mine\n\t"b": 2,\n}', '{\n\t"a": 1,\n\t// mine\n\t"b": 2,\n}'),
        ('{ // mine\r\n    "b": 2\r\n}', '{ // mine\r\n    "a": 1,\r\n    "b": 2\r\n}'),
        ("// only a comment", '// only a comment\n{\n  "a": 1\n}\n'),
    ],
)
def test_it_looks_as_the_user_writes(text: str, result: str) -> None:
    assert jsonc.put(text, ("a",), 1) == result


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{ nonsense", "line 1: a name"),
        ("{}\n{}", "line 2: the end"),
        ('{"a": 1\n"b": 2}', "line 2: `,`"),
        ("{/* for ever", "line 1"),
        ("[" * 100_000, "too deeply"),
        ('{"a": "x\ny"}', "line 1: a value"),
        ('{"a": 01}', "line 1: `,`"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, why: str) -> None:
    with pytest.raises(jsonc.JsoncError, match=why.replace("[", r"\[")):
        jsonc.put(text, ("a",), 1)

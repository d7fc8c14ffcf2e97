"""What of a server's words reaches the model, and how files of servers are read."""

import string
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sould.agents.mcp.naming import LONGEST_NAME, described, safe_schema, tool_name
from sould.agents.mcp.specs import ServerSpec, from_editor, load_file, merge
from sould.agents.soul.session_request import McpServer
from sould.agents.toolapi.portable import LONGEST_DESCRIPTION
from soultest.bench.mcp import configure

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=90)
FIT = set(string.ascii_letters + string.digits + "_-")


@given(names, names)
def test_every_name_fits_the_providers(server: str, tool: str) -> None:
    name = tool_name(server, tool)
    assert len(name) <= LONGEST_NAME
    assert set(name) <= FIT
    assert "__" in name


@given(
    st.lists(st.tuples(st.text("a_b.", min_size=1, max_size=4), st.text("a_b.", min_size=1, max_size=4)), unique=True)
)
def test_two_tools_never_get_one_name(tools: list[tuple[str, str]]) -> None:
    assert len({tool_name(*each) for each in tools}) == len(tools)


def test_a_plain_name_stays_readable() -> None:
    assert tool_name("github", "create_issue") == "github__create_issue"


@given(names, st.text(max_size=4000))
def test_a_description_is_short_and_hides_nothing(server: str, text: str) -> None:
    said = described(server, text)
    assert len(said.encode()) <= max(LONGEST_DESCRIPTION, len(server.encode()) + 30)
    assert all(char in "\n\t" or char.isprintable() for char in said)


def test_local_references_are_resolved_and_remote_ones_dropped() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "kind": {"$ref": "#/$defs/Kind"},
            "far": {"$ref": "http://example.com/x.json", "description": "far"},
            "self": {"$ref": "#"},
            "definitions": {"type": "string"},
        },
        "$defs": {"Kind": {"enum": ["a", "b"]}},
    }
    assert safe_schema(schema)["properties"]["kind"] == {"type": "string", "enum": ["a", "b"]}
    assert safe_schema(schema)["properties"]["far"]["description"] == "far"
    assert safe_schema(schema)["properties"]["definitions"] == {"type": "string"}
    assert "$ref" not in repr(safe_schema(schema))
    hidden = {"type": "object", "properties": {"far": {"$\u200bref": "https://elsewhere.example/schema"}}}
    assert "elsewhere" not in repr(safe_schema(hidden))


def test_a_schema_that_explodes_or_is_none_becomes_any_object() -> None:
    bomb: dict[str, Any] = {"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 9} for n in range(30)}}
    bomb["properties"] = {"a": {"$ref": "#/$defs/d0"}}
    for schema in (bomb, {}, {"type": "string"}):
        assert safe_schema(schema)["type"] == "object"
        assert len(repr(safe_schema(schema))) < 100_000


def test_one_bad_entry_costs_only_itself(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    configure(
        file,
        {
            "good": {"command": "x", "args": ["${A}", "${B:-b}"], "timeout": 1500},
            "off": {"command": "x", "disabled": True},
            "unset": {"command": "${MISSING}"},
            "empty": {},
            "wrong": {"command": 5},
            "far": {"transport": "streamable-http", "url": "https://example.com"},
        },
    )
    loaded = load_file(file, "user", {"A": "a"})
    assert [(server.name, server.transport, server.args) for server in loaded.servers] == [
        ("good", "stdio", ("a", "b")),
        ("far", "http", ()),
    ]
    assert loaded.servers[0].call_timeout == 1.5
    said = " ".join(loaded.notices)
    assert all(words in said for words in ("MISSING is not set", "mcpServers.empty", "mcpServers.wrong.command"))


def test_a_file_with_a_mistake_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text('{\n "mcpServers": {,}\n}')
    assert "line 2" in load_file(tmp_path / "mcp.json", "user", {}).notices[0]
    assert load_file(tmp_path / "none.json", "user", {}).notices == ()


def test_of_a_users_file_that_others_may_write_nothing_is_started(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"box": {"command": "box"}}}')
    file.chmod(0o666)
    loaded = load_file(file, "user", {})
    assert loaded.servers == ()
    assert f"run `chmod go-w {file}`" in loaded.notices[0]
    assert load_file(file, "project", {}).servers, "a project's counts as it was trusted"


def test_the_later_place_wins(tmp_path: Path) -> None:
    configure(tmp_path / "mcp.json", {"one": {"command": "a"}, "two": {"command": "b"}})
    merged = merge(load_file(tmp_path / "mcp.json", "user", {}), from_editor([McpServer("one", "stdio", "c")]))
    assert [(server.name, server.command) for server in merged.servers] == [("one", "c"), ("two", "b")]


def test_the_last_words_of_a_server_hold_none_of_the_secrets_it_was_given() -> None:
    spec = ServerSpec("x", "stdio", source="user", env={"BOARD_TOKEN": "tok-12345678", "HOME": "/people/someone"})
    said = spec.harmless(["first", "no access to /people/someone with tok-12345678 \x1b[31m"])
    assert said == "first | no access to /people/someone with *** [31m"
    remote = ServerSpec("x", "http", source="user", headers={"Authorization": "Bearer abcdefgh"})
    assert "abcdefgh" not in remote.harmless(["got abcdefgh"])

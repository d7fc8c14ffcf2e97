"""Lists of tools as servers of the world have them, and one call of each with what its server answers.

A comment names the servers or reports that a list follows; names and words are shortened.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from soultest.pictures import encoded, png

Json = dict[str, Any]


def shown(data: bytes, kind: str) -> Json:
    """A picture in an answer."""
    return {"type": "image", "data": encoded(data), "mimeType": kind}


def said(text: str) -> Json:
    """Words in an answer."""
    return {"type": "text", "text": text}


def tool(name: object, properties: object = None, **more: Any) -> Json:
    """A definition; `more` goes beside the properties."""
    return {
        "name": name,
        "description": f"{name}.",
        "inputSchema": {"type": "object", "properties": properties, **more},
    }


@dataclass(frozen=True)
class ToolList:
    """What a server offers."""

    tools: list[Any]
    call: str
    """The tool that is called, as its server names it."""
    arguments: Json = field(default_factory=dict[str, Any])
    content: list[Json] = field(default_factory=lambda: [said("It worked.")])
    """What it answers."""
    more: Json = field(default_factory=dict[str, Any])
    """Further keys of its answer."""
    shows: str = "It worked."
    """What of it reaches the model."""
    usable: int = -1
    """How many of the tools are offered at least; all where it is -1."""

    def served(self) -> str:
        """The file that the test server reads."""
        return json.dumps({"tools": self.tools, "result": {"content": self.content, **self.more}})


TEXT: Json = {"type": "string"}
_DEEP: Json = {
    "$defs": {
        "Filter": {
            "oneOf": [
                {"type": "object", "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}}},
                {"type": "object", "properties": {"property": TEXT, "equals": {"type": ["string", "number", "null"]}}},
            ]
        }
    }
}

LISTS: dict[str, ToolList] = {
    # playwright-mcp 1211 and 1219, chrome-devtools-mcp 583: a PNG that is called a JPEG
    "playwright": ToolList(
        [
            tool("browser_navigate", {"url": {**TEXT, "format": "uri"}}, required=["url"]),
            tool("browser_take_screenshot", {"type": {"type": "string", "enum": ["png", "jpeg"], "default": "png"}}),
        ],
        "browser_take_screenshot",
        content=[said("It worked."), shown(png(), "image/jpeg")],
    ),
    # claude-code 53228: a page that is called a picture
    "screenshots": ToolList(
        [tool("shot", {})], "shot", content=[said("It worked."), shown(b"<!doctype html><html>404</html>", "image/png")]
    ),
    # figma exports
    "figma": ToolList(
        [tool("get_image", {"nodeId": {**TEXT, "pattern": r"^I?\d+[:|-]\d+"}})],
        "get_image",
        {"nodeId": "1:2"},
        content=[said("It worked."), shown(b'<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml")],
    ),
    # github-mcp-server: many plain tools with numbers, lists and enums
    "github": ToolList(
        [
            tool(
                f"{verb}_{what}",
                {
                    "owner": TEXT,
                    "page": {"type": "number", "minimum": 1},
                    "labels": {"type": "array", "items": TEXT},
                    "state": {"type": "string", "enum": ["open", "closed", "all"]},
                },
                required=["owner"],
            )
            for verb in ("list", "get", "create", "update")
            for what in ("issue", "pull_request", "branch", "release")
        ],
        "get_issue",
        {"owner": "o", "labels": '["a"]', "page": "2"},
    ),
    # notion-mcp: schemas that hold themselves
    "notion": ToolList(
        [tool("query", {"filter": {"$ref": "#/$defs/Filter"}}, **_DEEP)], "query", {"filter": {"property": "p"}}
    ),
    # opencode 5832, supabase: lists of anything
    "supabase": ToolList(
        [tool("insert", {"rows": {"type": "array"}, "options": {"type": "object", "additionalProperties": True}})],
        "insert",
        {"rows": '[{"a": 1}]', "options": {"deep": {"er": 1}}},
    ),
    # opencode 2687, crawl4ai 1311: numbers to choose from
    "sonarqube": ToolList(
        [tool("issues", {"severity": {"type": "integer", "enum": [1, 2, 3]}, "mode": {"enum": ["a", 1, None]}})],
        "issues",
        {"severity": 2},
    ),
    # claude-code 34771: Google's names of parameters
    "drive": ToolList(
        [tool("files.list", {"$.xgafv": TEXT, "q": TEXT, "a" * 80: TEXT})], "files.list", {"q": "x", "_.xgafv": "2"}
    ),
    # kimi-cli 2061: a required property that is not there
    "jira": ToolList(
        [tool("search", {"jql": TEXT}, required=["jql", "fields"]), tool("get", {"key": TEXT}, required="key")],
        "search",
        {"jql": "x"},
    ),
    # kimi-cli 2531: a name that begins with a digit, a type beside `anyOf`
    "21st": ToolList(
        [tool("21st_magic", {"v": {"type": "string", "anyOf": [TEXT, {"type": "integer"}]}})], "21st_magic", {"v": "x"}
    ),
    # filesystem servers in drafts 4 and 7
    "filesystem": ToolList(
        [
            tool(
                "edit_file",
                {"edits": {"type": "array", "items": {"$ref": "#/definitions/Edit"}}, "dryRun": {"type": "boolean"}},
                **{
                    "$schema": "http://json-schema.org/draft-07/schema#",
                    "additionalProperties": False,
                    "definitions": {
                        "Edit": {"type": "object", "properties": {"oldText": TEXT}, "required": ["oldText"]}
                    },
                },
            )
        ],
        "edit_file",
        {"edits": [{"oldText": "a"}], "dryRun": "true"},
    ),
    # FastMCP servers: a result that is not as its output schema says
    "weather": ToolList(
        [
            tool("forecast", {"city": TEXT})
            | {
                "outputSchema": {
                    "type": "object",
                    "properties": {"degrees": {"type": "integer"}},
                    "required": ["degrees"],
                }
            }
        ],
        "forecast",
        {"city": "Bern"},
        more={"structuredContent": {"degrees": "warm"}},
    ),
    # claude-code 45106: requirements at the top
    "kubernetes": ToolList(
        [
            tool("get", {"name": TEXT, "label": TEXT}, anyOf=[{"required": ["name"]}, {"required": ["label"]}]),
            {
                "name": "scale",
                "description": "Scales.",
                "inputSchema": {"allOf": [{"properties": {"n": {"type": "integer"}}}, {"properties": {"deep": True}}]},
            },
        ],
        "get",
        {"name": "x"},
    ),
    # pydantic-ai 4585, mastra 13632: dots, blanks, other scripts and length in names
    "stripe": ToolList(
        [tool("customers.create", {}), tool("list all invoices", {}), tool("résumé", {}), tool("x" * 120, {})],
        "customers.create",
    ),
    # definitions without a schema, with `null`, with a schema that is none
    "postgres": ToolList(
        [
            {"name": "now", "description": None},
            {"name": "tables", "inputSchema": None},
            {"name": "bare", "inputSchema": {}},
            {"name": "text", "inputSchema": {"type": "string"}},
        ],
        "now",
    ),
    # n8n: keywords and texts among the properties
    "n8n": ToolList(
        [tool("run", {"type": "object", "required": ["flow"], "flow": TEXT, "any": True, "none": False})],
        "run",
        {"flow": "f"},
    ),
    # openapi-mcp-server 9, probe 23: long descriptions; characters that cannot be seen
    "terraform": ToolList(
        [tool("plan", {"dir": {**TEXT, "description": "d" * 5000}}) | {"description": "Plans.\u200b\u202e " * 900}],
        "plan",
        {"dir": "."},
    ),
    # aws: conditions and constants
    "aws": ToolList(
        [
            tool(
                "call",
                {
                    "kind": {"const": "ec2"},
                    "version": {"const": 2},
                    "tags": {"type": "object", "patternProperties": {"^x-": TEXT}},
                    "count": {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 2},
                    "choice": {
                        "if": {"type": "string"},
                        "then": {"minLength": 2},
                        "else": False,
                        "not": {"type": "null"},
                    },
                    "pair": {"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "items": False},
                },
            )
        ],
        "call",
        {"kind": "ec2"},
    ),
    # opencode 1814 and 4909, vscode 257826: more tools than servers take
    "depot": ToolList([tool(f"tool_{number}", {}) for number in range(200)], "tool_0", usable=100),
    # a list that is partly no list of tools, and an answer of everything
    "zoo": ToolList(
        [
            tool("good", {}) | {"annotations": {"readOnlyHint": "yes"}, "icons": 5, "_meta": []},
            tool("good", {}),
            tool("", {}),
            tool(7, {}),
            "no tool at all",
            None,
        ],
        "good",
        content=[
            said("It worked."),
            {"type": "audio", "data": encoded(b"RIFF"), "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
        ],
        usable=1,
    ),
}

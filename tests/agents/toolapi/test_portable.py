"""Schemas of strangers become schemas that every server takes: Moonshot, Gemini, OpenAI and Claude behind gateways."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.toolapi.portable import portable
from soultest.families.schemas import DIALECTS

KINDS = ("string", "number", "integer", "boolean", "object", "array")


def refusals(schema: dict[str, Any]) -> list[str]:
    """What strict servers say of it."""
    return [words for dialect in DIALECTS for words in dialect(schema)]


ODD: dict[str, dict[str, Any]] = {
    "requirements at the top": {
        "type": "object",
        "anyOf": [{"required": ["x"]}],
        "properties": {"x": {"type": "string"}},
    },
    "all of several": {
        "allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {}}}]
    },
    "a type beside ways": {"properties": {"v": {"type": "string", "anyOf": [{"type": "string"}, {"type": "integer"}]}}},
    "required, but not there": {"properties": {}, "required": ["codecType"]},
    "no type": {"properties": {"any": {"description": "Anything."}}},
    "a list of anything": {"properties": {"nodes": {"type": "array"}}},
    "numbers to choose from": {"properties": {"n": {"type": "integer", "enum": [1, 2], "description": "How many."}}},
    "several types": {
        "properties": {"rows": {"type": ["object", "null", "array"], "properties": {"a": {"type": "string"}}}}
    },
    "properties of a text": {"properties": {"data": {"type": "string", "properties": {"a": {"type": "string"}}}}},
    "a name with a dollar": {"properties": {"$.xgafv": {"type": "string"}, "ok": {"type": "string"}}},
    "keywords among the properties": {
        "properties": {"type": "object", "required": ["f"], "f": {"type": "string"}, "g": True}
    },
    "one value": {"properties": {"kind": {"const": "a"}, "version": {"const": 2}}},
    "one of": {"properties": {"v": {"oneOf": [{"type": "null"}, {"type": "string", "format": "uri"}]}}},
    "an object with requirements": {
        "properties": {
            "v": {
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            }
        }
    },
    "a union of objects at the top": {
        "oneOf": [
            {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
        ]
    },
    "all of two objects inside": {
        "properties": {
            "v": {
                "allOf": [
                    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"type": "object", "properties": {"b": {"type": "integer"}}},
                ]
            }
        }
    },
    "nothing but null": {"properties": {"v": {"anyOf": [{"type": "null"}]}, "w": {"type": "null"}}},
}


@pytest.mark.parametrize("schema", ODD.values(), ids=ODD)
def test_odd_schemas_become_ones_that_no_server_refuses(schema: dict[str, Any]) -> None:
    assert refusals(portable(schema)) == []


def test_what_a_model_has_to_know_stays() -> None:
    made = portable(
        {
            "type": "object",
            "description": "Finds.",
            "required": ["path", "gone"],
            "properties": {
                "path": {"type": "string", "description": "Where.", "minLength": 1, "format": "uri"},
                "depth": {"type": "integer", "enum": [1, 2], "description": "How deep."},
                "kind": {"enum": ["file", "folder"], "default": "file"},
                "filters": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"n": {"type": "number"}}},
                    "maxItems": 3,
                },
                "when": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "Since."},
            },
        }
    )
    assert made == {
        "type": "object",
        "description": "Finds.",
        "required": ["path"],
        "properties": {
            "path": {"description": "Where.", "type": "string", "minLength": 1},
            "depth": {"description": "How deep. One of 1, 2.", "type": "integer"},
            "kind": {"default": "file", "type": "string", "enum": ["file", "folder"]},
            "filters": {
                "type": "array",
                "items": {"type": "object", "properties": {"n": {"type": "number"}}},
                "maxItems": 3,
            },
            "when": {"description": "Since.", "type": "string"},
        },
    }


NAMES = st.sampled_from(["a", "b", "type", "properties", "$x", "ü", "a" * 70])
LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([*KINDS, "null", "", "word"])
ANY = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "anyOf",
                    "oneOf",
                    "allOf",
                    "enum",
                    "const",
                    "required",
                    "description",
                    "default",
                ]
            )
            | NAMES,
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "anyOf", "allOf", "required", "enum", "items"]), ANY))
def test_no_schema_whatever_is_in_it_becomes_one_that_a_server_refuses(schema: dict[str, Any]) -> None:
    assert refusals(portable(schema)) == []


def test_no_property_is_lost_to_ways_and_requirements() -> None:
    inside = portable(ODD["an object with requirements"])["properties"]["v"]
    assert (inside["type"], set(inside["properties"])) == ("object", {"a", "b"})
    assert portable(ODD["a union of objects at the top"]) == {
        "type": "object",
        "properties": {"path": {"type": "string"}, "url": {"type": "string"}},
    }
    both = portable(ODD["all of two objects inside"])["properties"]["v"]
    assert (set(both["properties"]), both["required"]) == ({"a", "b"}, ["a"])
    text = {"properties": {"t": {"type": "string", "anyOf": [{"format": "uri"}, {"format": "email"}]}}}
    assert portable(text)["properties"]["t"] == {"type": "string"}

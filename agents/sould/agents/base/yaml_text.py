"""Structured data as people read it: YAML in place of JSON, for cards and questions. Programs and models keep the JSON."""

import json
from typing import Any

from pydantic import JsonValue

LARGEST = 64 * 1024
"""Characters of JSON that are made readable; more is nobody's reading."""


def as_lines(value: JsonValue) -> str:
    """A line a value, nested ones indented, texts of several lines as blocks. Two different values never look the same."""
    import yaml  # noqa: PLC0415 -- a session's first use, not the daemon's start

    class Lines(yaml.SafeDumper):
        """Blocks for texts of several lines."""

    def text(dumper: Any, data: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)

    Lines.add_representer(str, text)
    return yaml.dump(value, Dumper=Lines, allow_unicode=True, sort_keys=False, width=1_000_000).rstrip("\n")


def readable(text: str) -> str:
    """`text`, as lines where it is a JSON object or list."""
    if len(text) > LARGEST or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    return as_lines(value) if value else text

"""Labels as Mermaid writes them, and a flow written as Mermaid in its one normal form. Pure."""

import re
from html.entities import html5

from sould.agents.soul.flows.graph import Flow, Node

_ENTITY = re.compile(r"[#&](\w{1,40});")
_NUMBER = re.compile(r"\d{1,7}")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_OWN = {"num": "#"}


def decoded(text: str) -> str:
    """A label as it is meant: `<br>` is a new line, `#quot;` a quote; in backquotes it is Markdown."""
    if len(text) > 1 and text[0] == text[-1] == "`":
        text = text[1:-1]
    plain = "\n".join(line.strip() for line in _BREAK.sub("\n", text).split("\n")).strip()
    return _ENTITY.sub(_character, plain)


def _character(found: "re.Match[str]") -> str:
    name = found.group(1)
    if _NUMBER.fullmatch(name) and name.isascii():
        number = int(name)
        return chr(number) if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else found.group()
    return _OWN.get(name) or html5.get(f"{name};", found.group())


def to_mermaid(flow: Flow) -> str:
    """The flow in normal form: every node once, quoted, then every edge; parsing it gives the same flow."""
    lines = ["flowchart TD", *(f"  {_written(node)}" for node in flow.nodes.values())]
    for edge in flow.edges:
        label = f'|"{_encoded(edge.label)}"|' if edge.label else ""
        lines.append(f"  {edge.source} -->{label} {edge.target}")
    return "\n".join(lines) + "\n"


def _written(node: Node) -> str:
    opening, closing = {"begin": ("([", "])"), "end": ("([", "])"), "decision": ("{", "}"), "task": ("[", "]")}[
        node.kind
    ]
    return f'{node.id}{opening}"{_encoded(node.label)}"{closing}'


def _encoded(text: str) -> str:
    """Quotes, hashes and the like as entities; so are spaces and characters that would not survive trimming or splitting."""
    body = text.replace("#", "#num;").replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;")
    body = body.replace("\n", "<br/>")
    return re.sub(r"[^\S ]|(?<=<br/>) +| +(?=<br/>)|^ +| +$|^`|`$", _as_numbers, body)


def _as_numbers(found: "re.Match[str]") -> str:
    return "".join(f"#{ord(character)};" for character in found.group())

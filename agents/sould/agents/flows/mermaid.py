"""Mermaid flowcharts: the subset flows are written in, and its normal form.

No library on PyPI parses Mermaid flowcharts in Python: what there is renders through a browser or a service. Anything
outside the subset is an error with line and column, never skipped.
"""

import re

from sould.agents.flows.graph import Edge, Flow, Node, Sketch, build
from sould.agents.flows.scanner import Scanner

_HEADER = re.compile(r"(?:flowchart|graph)(?:[ \t]+(?:TB|TD|LR|RL|BT))?(?=[ \t]*(?:;|\n|%%|$))")
_BLANK = re.compile(r"(?:[ \t\r\n;]|%%[^\n]*)+")
_SPACE = re.compile(r"[ \t]+")
_MORE = re.compile(r"[ \t]+(?!--|&)[^ \t\n;]")
_ID = re.compile(r"\w+(?:-\w+)*")
_STATEMENT_END = re.compile(r"[ \t]*(?:;|\n|%%|$)")
_ENTITY = re.compile(r"#(quot|lt|gt|amp|num|\d{1,7});")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SHAPES = (("([", "])"), ("[[", "]]"), ("[", "]"), ("(", ")"), ("{", "}"))
_NAMED = {"quot": '"', "lt": "<", "gt": ">", "amp": "&", "num": "#"}
_NOT_OURS = frozenset(
    {"subgraph", "style", "linkStyle", "classDef", "class", "click", "direction", "accTitle", "accDescr"}
)


def parse_mermaid(text: str, offset: int = 0) -> Flow:
    """The flow in a Mermaid text; `offset` is the number of lines before it in its file.

    Raises:
        FlowError: not the subset, or not sound.
    """
    return _Parser(Scanner(text, offset)).parse()


class _Parser:
    def __init__(self, scanner: Scanner) -> None:
        self._in = scanner
        self._nodes: dict[str, Sketch] = {}
        self._shaped: set[str] = set()
        self._edges: list[Edge] = []

    def parse(self) -> Flow:
        scanner = self._in
        scanner.take(_BLANK)
        if not scanner.take(_HEADER):
            scanner.fail("a flow begins with `flowchart TD` (or graph; TB, TD, LR, RL, BT)")
        while True:
            scanner.take(_BLANK)
            if scanner.done:
                return build(self._nodes.values(), self._edges)
            self._statement()

    def _statement(self) -> None:
        scanner = self._in
        sources = self._group()
        while not _STATEMENT_END.match(scanner.text, scanner.at):
            scanner.take(_SPACE)
            at = scanner.at
            label = self._arrow()
            scanner.take(_BLANK)
            targets = self._group()
            place = scanner.place_of(at)
            self._edges += [Edge(source, target, label, place) for source in sources for target in targets]
            sources = targets

    def _group(self) -> list[str]:
        """Nodes joined by `&`."""
        nodes = [self._node()]
        while True:
            before = self._in.at
            self._in.take(_SPACE)
            if not self._in.literal("&"):
                self._in.at = before
                return nodes
            self._in.take(_SPACE)
            nodes.append(self._node())

    def _node(self) -> str:
        scanner = self._in
        at = scanner.at
        found = scanner.take(_ID)
        if not found:
            scanner.unexpected()
        name = found.group()
        if name in _NOT_OURS and _MORE.match(scanner.text, scanner.at):
            scanner.fail(f"`{name}` is not part of flows", at)
        label, decides = self._shape()
        if label is None:
            self._nodes.setdefault(name, Sketch(name, name, decides=False, place=scanner.place_of(at)))
            return name
        sketch = Sketch(name, label, decides, scanner.place_of(at))
        known = self._nodes.get(name)
        if name in self._shaped and known is not None and (known.label, known.decides) != (label, decides):
            scanner.fail(f"{name} already stands for {known.label[:40]!r}", at)
        if name not in self._shaped:
            self._nodes[name] = sketch if known is None else Sketch(name, label, decides, known.place)
            self._shaped.add(name)
        return name

    def _shape(self) -> tuple[str | None, bool]:
        scanner = self._in
        at = scanner.at
        for opening, closing in _SHAPES:
            if scanner.literal(opening):
                return self._label(closing, at), opening == "{"
        return None, False

    def _label(self, closing: str, at: int) -> str:
        scanner = self._in
        scanner.take(_BLANK if scanner.text[scanner.at : scanner.at + 1] == "\n" else _SPACE)
        if scanner.literal('"'):
            text = scanner.until('"', "this quoted label is not closed", at)
            scanner.take(_SPACE)
            if not scanner.literal(closing):
                scanner.fail(f"`{closing}` is missing behind the label")
        else:
            text = scanner.until(closing, f"this label is not closed by `{closing}`", at)
            if "\n" in text:
                scanner.fail("a label of several lines must be in quotes", at)
            if closing == "]" and text[:1] in ("/", "\\"):
                scanner.fail(
                    "a slanted box is not part of flows; a label that begins with a slash must be in quotes", at
                )
            for mark in '[](){}"|':
                if mark in text:
                    scanner.fail(f"a label with {mark} must be in quotes", at)
        return _decoded(text)

    def _arrow(self) -> str:
        """The label of the edge that begins here."""
        scanner = self._in
        at = scanner.at
        if scanner.literal("-->"):
            scanner.take(_SPACE)
            return self._label("|", at) if scanner.literal("|") else ""
        if not scanner.literal("--") or not scanner.take(_SPACE):
            scanner.at = at
            scanner.unexpected()
        if not scanner.literal('"'):
            text = scanner.until("-->", "this edge has no `-->`", at)
            if "\n" in text:
                scanner.fail("this edge has no `-->`", at)
            return _decoded(text)
        text = scanner.until('"', "this quoted label is not closed", at)
        scanner.take(_SPACE)
        if not scanner.literal("-->"):
            scanner.fail("`-->` is missing behind the label")
        return _decoded(text)


def _decoded(text: str) -> str:
    plain = "\n".join(line.strip() for line in _BREAK.sub("\n", text).split("\n")).strip()
    return _ENTITY.sub(_character, plain)


def _character(found: "re.Match[str]") -> str:
    name = found.group(1)
    if name in _NAMED:
        return _NAMED[name]
    number = int(name)
    return chr(number) if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else found.group()


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
    """Quotes, hashes and angles as entities; so are spaces and characters that would not survive trimming or splitting."""
    body = text.replace("#", "#num;").replace('"', "#quot;").replace("<", "#lt;").replace("\n", "<br/>")
    return re.sub(r"[^\S ]|(?<=<br/>) +| +(?=<br/>)|^ +| +$", _as_numbers, body)


def _as_numbers(found: "re.Match[str]") -> str:
    return "".join(f"#{ord(character)};" for character in found.group())

"""D2 diagrams: the subset flows are written in.

No library on PyPI parses D2 in Python: what there is wraps the Go program. Anything outside the subset is an error with
line and column, never skipped. Ids become Mermaid ids, so that every flow has the one normal form.
"""

import re
import textwrap

from sould.agents.flows.graph import Edge, Flow, Sketch, build
from sould.agents.flows.scanner import Scanner

_BLANK = re.compile(r'(?:[ \t\r\n;]|#[^\n]*|"""(?s:.*?)""")+')
_SPACE = re.compile(r"[ \t]+")
_KEY = re.compile(r"(?:(?!->|--|<-)[^\s:;{}|\"'#.<>&*$@\[\]()]|[ \t]+(?=[^\s:;{}|\"'#.<>&*-]))+")
_VALUE = re.compile(r"(?:[^\n;{}|#\"]|(?<=\S)#)+")
_PIPES = re.compile(r"\|+")
_TAG = re.compile(r"[A-Za-z0-9]*(?=\s)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_QUOTED = re.compile(r'"((?:\\.|[^"\\\n])*)"')
_SINGLE = re.compile(r"'((?:''|[^'\n])*)'")
_NOT_OURS = frozenset({"direction", "vars", "classes", "layers", "scenarios", "steps", "style"})
_SHAPES = frozenset(
    {
        *("rectangle", "square", "page", "parallelogram", "document", "cylinder", "queue", "package", "step"),
        *("callout", "stored_data", "person", "diamond", "oval", "circle", "hexagon", "cloud", "text", "code"),
    }
)


def parse_d2(text: str, offset: int = 0) -> Flow:
    """The flow in a D2 text; `offset` is the number of lines before it in its file.

    Raises:
        FlowError: not the subset, or not sound.
    """
    return _Parser(Scanner(text, offset)).parse()


class _Parser:
    def __init__(self, scanner: Scanner) -> None:
        self._in = scanner
        self._places: dict[str, int] = {}
        self._labels: dict[str, str] = {}
        self._shapes: dict[str, str] = {}
        self._edges: list[Edge] = []

    def parse(self) -> Flow:
        while True:
            self._in.take(_BLANK)
            if self._in.done:
                return self._build()
            self._statement()
            self._end_of_statement()

    def _build(self) -> Flow:
        names = _mermaid_ids(self._places)
        sketches = [
            Sketch(
                names[key],
                self._labels.get(key, key),
                decides=self._shapes.get(key) == "diamond",
                place=self._in.place_of(at),
            )
            for key, at in self._places.items()
        ]
        edges = [Edge(names[edge.source], names[edge.target], edge.label, edge.place) for edge in self._edges]
        return build(sketches, edges)

    def _statement(self) -> None:
        scanner = self._in
        key = self._key()
        scanner.take(_SPACE)
        if scanner.literal("."):
            self._attribute(key)
        elif scanner.literal("->"):
            self._chain(key)
        elif scanner.literal(":"):
            self._describe(key)

    def _end_of_statement(self) -> None:
        scanner = self._in
        scanner.take(_SPACE)
        if not scanner.done and scanner.text[scanner.at] not in "\n;#}":
            scanner.unexpected()
        if scanner.text.startswith("}", scanner.at):
            scanner.unexpected()

    def _key(self) -> str:
        scanner = self._in
        at = scanner.at
        key = self._quoted()
        if key is None:
            found = scanner.take(_KEY)
            if not found or not found.group().strip():
                scanner.unexpected()
            key = found.group().strip()
        if not key.strip():
            scanner.fail("a node needs a name", at)
        self._places.setdefault(key, at)
        return key

    def _quoted(self) -> str | None:
        scanner = self._in
        at = scanner.at
        if found := scanner.take(_QUOTED):
            return _ESCAPE.sub(lambda escape: "\n" if escape.group(1) == "n" else escape.group(1), found.group(1))
        if found := scanner.take(_SINGLE):
            return found.group(1).replace("''", "'")
        if scanner.text[at : at + 1] in ('"', "'"):
            scanner.fail("this quoted text is not closed on its line", at)
        return None

    def _chain(self, first: str) -> None:
        scanner = self._in
        keys, arrows = [first], [scanner.at - 2]
        while True:
            scanner.take(_SPACE)
            keys.append(self._key())
            scanner.take(_SPACE)
            at = scanner.at
            if not scanner.literal("->"):
                break
            arrows.append(at)
        label = self._value() if scanner.literal(":") else ""
        for source, target, at in zip(keys, keys[1:], arrows, strict=False):
            self._edges.append(Edge(source, target, label, scanner.place_of(at)))

    def _attribute(self, key: str) -> None:
        scanner = self._in
        at = scanner.at
        if not scanner.literal("shape"):
            scanner.fail("only `.shape` is understood behind a node", at)
        scanner.take(_SPACE)
        if not scanner.literal(":"):
            scanner.fail("`:` is missing behind `shape`")
        self._set_shape(key)

    def _set_shape(self, key: str) -> None:
        scanner = self._in
        scanner.take(_SPACE)
        at = scanner.at
        shape = self._value()
        if shape not in _SHAPES:
            scanner.fail(f"there is no shape {shape[:30]!r}", at)
        self._shapes[key] = shape

    def _describe(self, key: str) -> None:
        """A label, a block `{shape: …}`, or both."""
        scanner = self._in
        if key in _NOT_OURS:
            scanner.fail(f"`{key}` is not part of flows", self._places[key])
        scanner.take(_SPACE)
        at = scanner.at
        if not scanner.text.startswith("{", at):
            label = self._value()
            if self._labels.setdefault(key, label) != label:
                scanner.fail(f"{key} already stands for {self._labels[key][:40]!r}", at)
            scanner.take(_SPACE)
        if scanner.literal("{"):
            self._block(key, scanner.at - 1)

    def _block(self, key: str, opened: int) -> None:
        scanner = self._in
        while True:
            scanner.take(_BLANK)
            if scanner.literal("}"):
                return
            if scanner.done:
                scanner.fail("this `{` is not closed", opened)
            at = scanner.at
            name = "shape" if scanner.literal("shape") else "label" if scanner.literal("label") else ""
            scanner.take(_SPACE)
            if not name or not scanner.literal(":"):
                scanner.fail("only `shape: …` and `label: …` are understood inside a node", at)
            if name == "shape":
                self._set_shape(key)
            else:
                self._labels[key] = self._value()

    def _value(self) -> str:
        """A quoted text, a block between pipes, or the rest of the line."""
        scanner = self._in
        scanner.take(_SPACE)
        at = scanner.at
        quoted = self._quoted()
        if quoted is not None:
            return quoted.strip()
        if pipes := scanner.take(_PIPES):
            scanner.take(_TAG)
            body = scanner.until(pipes.group(), f"this block is not closed by `{pipes.group()}`", at)
            return textwrap.dedent(body.strip("\n")).strip()
        found = scanner.take(_VALUE)
        if not found or not found.group().strip():
            scanner.unexpected()
        return found.group().strip()


def _mermaid_ids(keys: dict[str, int]) -> dict[str, str]:
    """Each key's id: itself where Mermaid can write it, else a number of its own."""
    names: dict[str, str] = {key: key for key in keys if re.fullmatch(r"\w+(?:-\w+)*", key)}
    taken = set(names)
    for number, key in enumerate(keys, 1):
        if key not in names:
            name = f"n{number}"
            while name in taken:
                name += "x"
            taken.add(name)
            names[key] = name
    return {key: names[key] for key in keys}

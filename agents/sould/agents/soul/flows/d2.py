"""D2 diagrams, as people write them.

No library on PyPI parses D2 in Python: what there is wraps the Go program. Every node and edge is taken, also from within
containers; what only says how the drawing looks is passed over with a warning; anything else is an error with line and
column. Ids become Mermaid ids, so that every flow has the one normal form.
"""

import re
from collections.abc import Iterable, Mapping

from sould.agents.soul.flows.d2syntax import Arrow, D2Part, D2Reader, D2Value, Statement
from sould.agents.soul.flows.graph import Drawing, Edge, Flow, FlowError, FlowProblem, Sketch
from sould.agents.soul.flows.scanner import Scanner

Path = tuple[str, ...]

_BOARDS = frozenset({"layers", "scenarios", "steps"})
_LOOKS = frozenset(
    {
        *("style", "class", "classes", "vars", "direction", "icon", "near", "link", "tooltip", "constraint", "width"),
        *("height", "top", "left", "grid-rows", "grid-columns", "grid-gap", "vertical-gap", "horizontal-gap"),
        *("source-arrowhead", "target-arrowhead", "d2-config", "d2-legend"),
    }
)
_WORDS = _LOOKS | _BOARDS | {"shape", "label"}
_SHAPES = frozenset(
    {
        *("rectangle", "square", "page", "parallelogram", "document", "cylinder", "queue", "package", "step", "image"),
        *(
            "callout",
            "stored_data",
            "person",
            "diamond",
            "oval",
            "circle",
            "hexagon",
            "cloud",
            "text",
            "code",
            "c4-person",
        ),
    }
)
_ID = re.compile(r"\w+(?:[-.]\w+)*")


def parse_d2(text: str, offset: int = 0) -> Flow:
    """The flow in a D2 text; `offset` is the number of lines before it in its file.

    Raises:
        FlowError: not understood, or not sound.
    """
    return draw_d2(text, offset).flow()


def draw_d2(text: str, offset: int = 0) -> Drawing:
    """What is drawn, sound or not.

    Raises:
        FlowError: something is not understood.
    """
    scanner = Scanner(text, offset)
    interpreter = _Interpreter(scanner)
    interpreter.take(D2Reader(scanner).statements(), ())
    return interpreter.drawing()


class _Interpreter:
    def __init__(self, scanner: Scanner) -> None:
        self._in = scanner
        self._places: dict[Path, int] = {}
        self._labels: dict[Path, str] = {}
        self._shapes: dict[Path, str] = {}
        self._edges: list[tuple[Path, Path, str, int]] = []
        self._warnings: list[FlowProblem] = []

    def take(self, statements: Iterable[Statement], scope: Path) -> None:
        """Statements as they stand in the container `scope`."""
        for statement in statements:
            if statement.refers or statement.attribute:
                self._refer(statement)
            elif statement.arrows:
                self._connect(statement, scope)
            else:
                self._describe(statement, scope)

    def drawing(self) -> Drawing:
        """Everything that was taken. Raises FlowError."""
        containers = {path[:length] for path in self._places for length in range(1, len(path))}
        for path in containers:
            at = min(at for inner, at in self._places.items() if inner[: len(path)] == path)
            self._warn(f"the container `{'.'.join(path)}`", at, taken="is ignored, but its steps are used")
        ends = {end: at for source, target, _, at in self._edges for end in (source, target)}
        problems = [
            FlowProblem(f"{'.'.join(path)} is a container, not a step; name a step in it", self._in.place_of(at))
            for path, at in ends.items()
            if path in containers
        ]
        if problems:
            raise FlowError(*problems)
        names = _mermaid_ids([path for path in self._places if path not in containers])
        nodes = {
            name: Sketch(
                name,
                self._labels.get(path, path[-1]),
                decides=self._shapes.get(path) == "diamond",
                place=self._in.place_of(self._places[path]),
            )
            for path, name in names.items()
        }
        edges = [Edge(names[a], names[b], label, self._in.place_of(at)) for a, b, label, at in self._edges]
        return Drawing(nodes, edges, self._warnings)

    def _warn(self, construct: str, at: int, *, taken: str = "is ignored") -> None:
        self._warnings.append(FlowProblem(f"{construct} {taken}", self._in.place_of(at)))

    def _refuse(self, construct: str, at: int) -> None:
        self._in.fail(f"{construct} is not part of flows", at)

    def _connect(self, statement: Statement, scope: Path) -> None:
        ends = [self._end(key, scope) for key in statement.keys]
        label = self._edge_label(statement)
        for arrow, source, target in zip(statement.arrows, ends, ends[1:], strict=False):
            self._edge(arrow, source, target, label)

    def _edge(self, arrow: Arrow, source: Path, target: Path, label: str) -> None:
        if arrow.text[0] != "<" or arrow.text[-1] == ">":
            self._edges.append((source, target, label, arrow.at))
        if arrow.text[0] == "<":
            self._edges.append((target, source, label, arrow.at))
        if arrow.text.strip("-") == "":
            self._warn(f"`{arrow.text}` has no arrowhead and", arrow.at, taken="is read as `->`")

    def _end(self, key: tuple[D2Part, ...], scope: Path) -> Path:
        node, attribute = _split(key)
        if attribute:
            self._refuse(f"an edge to `{attribute[0].text}`", attribute[0].at)
        return self._declare(node, scope)

    def _edge_label(self, statement: Statement) -> str:
        label = self._text(statement.value) if statement.value else ""
        for inner in statement.block or ():
            word = inner.keys[0][0]
            if inner.arrows or word.quoted or word.text.casefold() not in _WORDS:
                self._refuse(f"`{word.text}` in an edge", inner.at)
            elif word.text.casefold() == "label" and len(inner.keys[0]) == 1 and inner.value:
                label = self._text(inner.value)
            else:
                self._warn(f"`{word.text}`", inner.at)
        return label

    def _refer(self, statement: Statement) -> None:
        """`(a -> b)[0].style…`: only how edges look may be said of them from afar."""
        said = [statement.attribute] if statement.attribute else [each.keys[0] for each in statement.block or ()]
        if statement.value and not statement.attribute:
            said = []
        words = [key[0].text for key in said if not key[0].quoted and key[0].text.casefold() in _LOOKS]
        if not said or len(words) < len(said):
            self._refuse("`(…)[…]` with anything but looks", statement.at)
        self._warn(f"`(…).{words[0]}`", statement.at)

    def _describe(self, statement: Statement, scope: Path) -> None:
        (key,) = statement.keys
        node, attribute = _split(key)
        if any(map(_is_pattern, node)):
            self._match(statement, attribute)
            return
        path = self._declare(node, scope) if node else scope
        if attribute:
            self._attribute(path, attribute, statement)
            return
        if statement.value:
            if statement.value.text == "null" and not statement.value.quoted:
                self._refuse("`null`", statement.value.at)
            self._label(path, statement.value)
        self.take(statement.block or (), path)

    def _match(self, statement: Statement, attribute: tuple[D2Part, ...]) -> None:
        """Nodes that fit a pattern: only how they look may be said of them."""
        block = statement.block or ()
        said = [attribute] if attribute else [_split(each.keys[0])[1] for each in block if not each.arrows]
        pattern = f"`{statement.keys[0][0].text}`"
        if not said or len(said) < len(block) or not all(key and key[0].text.casefold() in _LOOKS for key in said):
            self._refuse(pattern, statement.at)
        self._warn(pattern, statement.at)

    def _attribute(self, path: Path, attribute: tuple[D2Part, ...], statement: Statement) -> None:
        word, value = attribute[0].text.casefold(), statement.value
        if word in ("shape", "label") and len(attribute) == 1 and path and value:
            if word == "label":
                self._labels[path] = self._text(value)
            else:
                self._shape(path, value)
            for inner in statement.block or ():
                self._warn(f"`{inner.keys[0][0].text}`", inner.at)
        else:
            self._warn(f"`{attribute[0].text}`{' and what is in it' if word in _BOARDS else ''}", attribute[0].at)

    def _shape(self, path: Path, value: D2Value) -> None:
        shape = self._text(value)
        if shape not in _SHAPES:
            self._in.fail(f"there is no shape {shape[:30]!r} in flows", value.at)
        self._shapes[path] = shape

    def _label(self, path: Path, value: D2Value) -> None:
        label = self._text(value)
        if self._labels.setdefault(path, label) != label:
            self._in.fail(f"{path[-1]} is already defined as {self._labels[path][:40]!r}", value.at)

    def _text(self, value: D2Value) -> str:
        if value.text is None:
            self._in.fail("a list is not part of flows", value.at)
        if value.text.startswith("@") and not value.quoted:
            self._in.fail("an import is not part of flows; a text that begins with @ belongs in quotes", value.at)
        return value.text

    def _declare(self, node: tuple[D2Part, ...], scope: Path) -> Path:
        path = scope
        for part in node:
            if not part.quoted and part.text == "_":
                if not path:
                    self._in.fail("there is no container above this one", part.at)
                path = path[:-1]
                continue
            if _is_pattern(part) or (not part.quoted and part.text.startswith(("@", "${"))):
                self._refuse(f"`{part.text[:30]}`", part.at)
            path = (*path, part.text)
            self._places.setdefault(path, part.at)
        if not path:
            self._in.fail("a node needs a name", node[0].at)
        return path


def _is_pattern(part: D2Part) -> bool:
    return not part.quoted and ("*" in part.text or part.text.startswith(("&", "!&")))


def _split(key: tuple[D2Part, ...]) -> tuple[tuple[D2Part, ...], tuple[D2Part, ...]]:
    """What names a node, and the words of the language behind it."""
    for index, part in enumerate(key):
        if not part.quoted and part.text.casefold() in _WORDS:
            return key[:index], key[index:]
    return key, ()


def _mermaid_ids(paths: Iterable[Path]) -> Mapping[Path, str]:
    """Each node's id: itself where Mermaid can write it, else a number of its own."""
    names: dict[Path, str] = {}
    taken: set[str] = set()
    paths = list(paths)
    for path in paths:
        joined = ".".join(path)
        if _ID.fullmatch(joined) and joined not in taken:
            names[path] = joined
            taken.add(joined)
    for number, path in enumerate(paths, 1):
        if path not in names:
            name = f"n{number}"
            while name in taken:
                name += "x"
            taken.add(name)
            names[path] = name
    return {path: names[path] for path in paths}

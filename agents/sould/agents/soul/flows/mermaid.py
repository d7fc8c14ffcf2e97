"""Mermaid flowcharts, as people write them.

No library on PyPI parses Mermaid flowcharts in Python: what there is renders through a browser or a service. Every node
and edge is taken; what only says how the drawing looks is passed over with a warning; anything else is an error with line
and column.
"""

import re
from html.entities import html5

from sould.agents.soul.flows.graph import Drawing, Edge, Flow, FlowError, FlowProblem, Node, Sketch
from sould.agents.soul.flows.scanner import Scanner

_ENTITY = re.compile(r"[#&](\w{1,40});")
_NUMBER = re.compile(r"\d{1,7}")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_OWN = {"num": "#"}
_HEADER = re.compile(
    r"(?:flowchart-elk|flowchart|graph)(?:[^\S\n]+(?:TB|TD|LR|RL|BT|BR|[<>^v]))?(?=[^\S\n]*(?:;|\n|%%|\Z))"
)
_TITLE = re.compile(r"---[^\S\n]*\n(?:(?![^\S\n]*---)[^\n]*\n)*[^\S\n]*---[^\S\n]*(?:\n|\Z)")
_DIRECTIVE = re.compile(r"%%\{(?:(?!\}%%).)*\}%%", re.DOTALL)
_BLANK = re.compile(r"(?:[\s;]|%%[^\n]*)+")
_SPACE = re.compile(r"[^\S\n]+")
_ID = re.compile(r"(?:[\w$'*+/?!\\]|-(?=\w)|=(?=\w)|\.(?=\w))+")
_STATEMENT_END = re.compile(r"[^\S\n]*(?:;|\n|%%|\Z)")
_NO_ARROW = r"(?=[^\S\n]+(?![xo<]?(?:--|==|-\.|~~~)|&|@)\S)"
_LOOKS = re.compile(
    rf"(style|linkStyle|classDef|class|click|direction|accTitle|accDescr){_NO_ARROW}|(acc(?:Title|Descr)):"
)
_DESCRIPTION = re.compile(r"accDescr\s*\{[^}]*\}")
_SUBGRAPH = re.compile(rf"subgraph(?:{_NO_ARROW}|(?=[^\S\n]*(?:;|\n|%%|\Z)))")
_SUBGRAPH_END = re.compile(r"end(?=[^\S\n]*(?:;|\n|%%|\Z))")
_SUBGRAPH_ID = re.compile(r'[^\S\n]*"?([^\s"\[\](){};]+)"?[^\S\n]*(?=\[|\(|\{|;|\n|%%|\Z)')
_REST = re.compile(r'(?:"[^"\n]*"|[^"\n;]|")*')
_CLASS = re.compile(r":::[^\s;:@&<>|{}()\[\]-]+")
_DATA = re.compile(r'@\{((?:"[^"]*"|[^"}])*)\}')
_FIELD = re.compile(r'([\w-]+)[^\S\n]*:[^\S\n]*(?:"([^"]*)"|([^,\n"]*))')
_LINK_ID = re.compile(r"([^\s\"@{}\[\]();&|]+)@(?=[xo<]?(?:--|==|-\.|~~~))")
_LINK = re.compile(r"[xo<]?(?:--+[-xo>]|==+[=xo>]|-\.+-[xo>]?|~~~+)")
_LABELLED = re.compile(r"([xo<]?)(--|==|-\.)(?![-=.>])")
_REST_OF_LINK = {
    "--": re.compile(r"--+[-xo>]"),
    "==": re.compile(r"==+[=xo>]"),
    "-.": re.compile(r"\.+-[xo>]?"),
}
_SHAPES = (
    *(("(((", (")))",)), ("((", ("))",)), ("([", ("])",)), ("(-", ("-)",)), ("(", (")",))),
    *(("[[", ("]]",)), ("[(", (")]",)), ("[/", ("/]", "\\]")), ("[\\", ("\\]", "/]")), ("[", ("]",))),
    *(("{{", ("}}",)), ("{", ("}",)), (">", ("]",))),
)
"""What opens and closes a label; the longer ones first. Only `{…}` decides."""
_RAW = re.compile(r'[^\[\](){}|"]*')
_DIAMONDS = frozenset({"diam", "decision", "diamond", "question"})
_TEXTS = frozenset({"shape", "label"})


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


def parse_mermaid(text: str, offset: int = 0) -> Flow:
    """The flow in a Mermaid text; `offset` is the number of lines before it in its file.

    Raises:
        FlowError: no flowchart, or not sound.
    """
    return draw_mermaid(text, offset).flow()


def draw_mermaid(text: str, offset: int = 0) -> Drawing:
    """What is drawn, sound or not.

    Raises:
        FlowError: something is not understood.
    """
    return _Parser(Scanner(text, offset)).parse()


class _Parser:
    def __init__(self, scanner: Scanner) -> None:
        self._in = scanner
        self._drawing = Drawing()
        self._shaped: set[str] = set()
        self._links: set[str] = set()
        """Names of edges, which may be spoken of like nodes."""
        self._open: list[int] = []
        """Where the subgraphs that are open begin."""
        self._subgraphs: set[str] = set()

    def parse(self) -> Drawing:
        scanner = self._in
        self._head()
        while True:
            scanner.take(_BLANK)
            if scanner.done:
                break
            if not self._passed_over() and not self._frame():
                self._statement()
        if self._open:
            scanner.fail("this `subgraph` is not closed by `end`", self._open[-1])
        self._check_frames()
        return self._drawing

    def _head(self) -> None:
        scanner = self._in
        while True:
            scanner.take(_SPACE)
            at = scanner.at
            if scanner.take(_TITLE):
                self._warn("the title block", at)
            elif scanner.take(_DIRECTIVE):
                self._warn("the directive `%%{…}%%`", at)
            elif not scanner.take(_BLANK):
                break
        if not scanner.take(_HEADER):
            scanner.fail("a flow begins with `flowchart TD` (or graph; TB, TD, LR, RL, BT)")

    def _warn(self, construct: str, at: int, *, taken: str = "is ignored") -> None:
        self._drawing.warnings.append(FlowProblem(f"{construct} {taken}", self._in.place_of(at)))

    def _passed_over(self) -> bool:
        """A statement that says how something looks."""
        scanner = self._in
        at = scanner.at
        if scanner.take(_DESCRIPTION):
            self._warn("`accDescr`", at)
            return True
        found = scanner.take(_LOOKS)
        if found:
            scanner.take(_REST)
            self._warn(f"`{found.group(1) or found.group(2)}`", at)
        return found is not None

    def _frame(self) -> bool:
        """The beginning or end of a subgraph; what is in it is taken as if it stood outside."""
        scanner = self._in
        at = scanner.at
        if self._open and scanner.take(_SUBGRAPH_END):
            self._open.pop()
            return True
        if not scanner.take(_SUBGRAPH):
            return False
        named = _SUBGRAPH_ID.match(scanner.text, scanner.at)
        if named:
            self._subgraphs.add(named.group(1))
        scanner.take(_REST)
        self._open.append(at)
        self._warn("`subgraph`", at, taken="is ignored, but its steps are used")
        return True

    def _check_frames(self) -> None:
        """An edge to a whole subgraph has no step to lead to."""
        nodes = self._drawing.nodes
        problems = [
            FlowProblem(f"{name} is a subgraph, not a step; name a step in it", nodes[name].place)
            for name in sorted(self._subgraphs & nodes.keys())
        ]
        if problems:
            raise FlowError(*problems)

    def _statement(self) -> None:
        scanner = self._in
        sources = self._group()
        while not _STATEMENT_END.match(scanner.text, scanner.at):
            scanner.take(_SPACE)
            at = scanner.at
            link, label = self._link()
            scanner.take(_BLANK)
            targets = self._group()
            if not link.startswith("~"):
                self._connect(sources, targets, link, label, at)
            sources = targets

    def _connect(self, sources: list[str], targets: list[str], link: str, label: str, at: int) -> None:
        place = self._in.place_of(at)
        edges = self._drawing.edges
        edges += [Edge(source, target, label, place) for source in sources for target in targets]
        if link[0] == "<":
            edges += [Edge(target, source, label, place) for source in sources for target in targets]
        elif not link.endswith(">"):
            self._warn(f"`{link}` has no arrowhead and", at, taken="is read as `-->`")

    def _group(self) -> list[str]:
        """Nodes joined by `&`."""
        nodes = self._node()
        while True:
            before = self._in.at
            self._in.take(_SPACE)
            if not self._in.literal("&"):
                self._in.move_to(before)
                return nodes
            self._in.take(_SPACE)
            nodes += self._node()

    def _node(self) -> list[str]:
        """The node that is named here; nothing when it is an edge's name."""
        scanner = self._in
        at = scanner.at
        found = scanner.take(_ID)
        if not found:
            scanner.unexpected()
        name = found.group()
        if name in self._links and self._data(None, at):
            return []
        label, decides = self._shape()
        self._declare(name, label, decides, at)
        while self._data(name, at) or self._class():
            pass
        return [name]

    def _declare(self, name: str, label: str | None, decides: bool, at: int) -> None:
        nodes, place = self._drawing.nodes, self._in.place_of(at)
        known = nodes.get(name)
        if label is None:
            nodes.setdefault(name, Sketch(name, name, decides, place))
        elif name in self._shaped and known is not None and (known.label, known.decides) != (label, decides):
            self._in.fail(f"{name} is already defined as {known.label[:40]!r}", at)
        elif name not in self._shaped:
            nodes[name] = Sketch(name, label, decides, place if known is None else known.place)
            self._shaped.add(name)

    def _class(self) -> bool:
        scanner = self._in
        at = scanner.at
        found = scanner.take(_CLASS)
        if found:
            self._warn(f"`{found.group()}`", at)
        return found is not None

    def _data(self, name: str | None, at: int) -> bool:
        """`@{shape: …, label: …}` behind a node, or behind the name of an edge (None), where it says how that looks."""
        scanner = self._in
        begun = scanner.at
        found = scanner.take(_DATA)
        if not found:
            if scanner.text.startswith("@{", begun):
                scanner.fail("this `@{` is not closed", begun)
            return False
        fields = {key.group(1): decoded(key.group(2) or key.group(3) or "") for key in _FIELD.finditer(found.group(1))}
        if name is not None:
            known = self._drawing.nodes[name]
            decides = known.decides or fields.get("shape") in _DIAMONDS
            self._drawing.nodes[name] = Sketch(name, fields.get("label", known.label), decides, known.place)
        for key in fields:
            if name is None or key not in _TEXTS:
                self._warn(f"`{key}` in `@{{…}}`", begun if name is not None else at)
        return True

    def _shape(self) -> tuple[str | None, bool]:
        scanner = self._in
        at = scanner.at
        for opening, closings in _SHAPES:
            if scanner.literal(opening):
                return self._label(closings, at), opening == "{"
        return None, False

    def _label(self, closings: tuple[str, ...], at: int) -> str:
        scanner = self._in
        begun = scanner.at
        scanner.take(_BLANK if scanner.text[begun : begun + 1] == "\n" else _SPACE)
        if scanner.literal('"'):
            text = scanner.until('"', "this quoted label is not closed", at)
            scanner.take(_BLANK)
            if not any(map(scanner.literal, closings)):
                scanner.fail(f"`{closings[0]}` is missing behind the label")
            return decoded(text)
        scanner.move_to(begun)
        raw = scanner.take(_RAW)
        text = raw.group() if raw is not None else ""
        slanted = text[-1:] if closings[0][0] in "/\\-" else ""
        if slanted and any(scanner.text.startswith(closing, scanner.at - 1) for closing in closings):
            scanner.move_to(scanner.at + 1)
            text = text[:-1]
        elif slanted or not any(map(scanner.literal, closings)):
            self._unclosed(closings[0], text, at)
        return decoded(text)

    def _unclosed(self, closing: str, text: str, at: int) -> None:
        scanner = self._in
        mark = scanner.text[scanner.at : scanner.at + 1]
        if closing[0] in "/\\":
            scanner.fail(
                f"this box is not closed by `{closing}`; a label that begins with a slash must be in quotes", at
            )
        if mark and "\n" not in text:
            scanner.fail(f"a label with {mark} must be in quotes", at)
        scanner.fail(f"this label is not closed by `{closing}`", at)

    def _link(self) -> tuple[str, str]:
        """The edge that begins here, as it is written, and its label."""
        scanner = self._in
        if named := scanner.take(_LINK_ID):
            self._links.add(named.group(1))
        at = scanner.at
        if found := scanner.take(_LINK):
            link = found.group()
            if link[0] == "~":
                self._warn(f"`{link}`", at)
            scanner.take(_SPACE)
            bar = scanner.at
            return link, self._label(("|",), bar) if scanner.literal("|") else ""
        opened = scanner.take(_LABELLED)
        if not opened:
            scanner.unexpected()
        return self._labelled(opened.group(1), opened.group(2), at)

    def _labelled(self, head: str, line: str, at: int) -> tuple[str, str]:
        """`-- label -->`."""
        scanner = self._in
        scanner.take(_SPACE)
        closing, shown = _REST_OF_LINK[line], {"--": "-->", "==": "==>", "-.": ".->"}[line]
        if scanner.literal('"'):
            text = scanner.until('"', "this quoted label is not closed", at)
            scanner.take(_SPACE)
            end = scanner.take(closing)
            if not end:
                scanner.fail(f"`{shown}` is missing behind the label")
            return head + end.group(), decoded(text)
        found = closing.search(scanner.text, scanner.at)
        text = scanner.text[scanner.at : found.start()] if found else "\n"
        if not found or "\n" in text:
            scanner.fail(f"this edge has no `{shown}`", at)
        scanner.move_to(found.end())
        return head + found.group(), decoded(text)

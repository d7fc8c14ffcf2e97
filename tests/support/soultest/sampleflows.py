"""Flows for property tests: any sound flow as a hypothesis strategy, and a flow written down as D2 in many ways."""

from collections.abc import Callable, Sequence

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sould.agents.soul.flows.graph import Edge, Flow, FlowError, FlowProblem, Node, SourcePlace

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no failure."""
LABELS = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n"), min_size=1, max_size=40).map(
    lambda text: "\n".join(line.strip() for line in text.split("\n")).strip()
)
NAMED = LABELS.filter(lambda label: bool(label) and label.casefold() not in ("begin", "end"))
IDS = st.from_regex(r"[a-zé中][a-z0-9_中]{0,6}(-[a-z]{1,3})?", fullmatch=True)
Shape = tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]


@st.composite
def flows(draw: st.DrawFn) -> Flow:
    """Sound flows: a chain of tasks and decisions, the decisions' further edges leading anywhere."""
    names = draw(st.lists(IDS, min_size=1, max_size=6, unique=True))
    kinds = [draw(st.sampled_from(["task", "decision"])) for _ in names]
    place = SourcePlace(1, 1)
    nodes = {"BEGIN": Node("BEGIN", "begin", draw(NAMED), place)}
    for name, kind in zip(names, kinds, strict=True):
        nodes[name] = Node(name, "decision" if kind == "decision" else "task", draw(NAMED), place)
    nodes["END"] = Node("END", "end", draw(NAMED), place)
    edges = [Edge("BEGIN", names[0], draw(st.one_of(st.just(""), NAMED)), place)]
    for name, kind, following in zip(names, kinds, [*names[1:], "END"], strict=True):
        count = draw(st.integers(2, 4)) if kind == "decision" else 1
        labels = draw(st.lists(NAMED, min_size=count, max_size=count, unique=True)) if kind == "decision" else [""]
        targets = [following, *(draw(st.sampled_from([*names, "END"])) for _ in labels[1:])]
        edges += [Edge(name, target, label, place) for target, label in zip(targets, labels, strict=True)]
    return Flow(nodes, tuple(edges))


def _decorated(draw: st.DrawFn, lines: list[str], looks: list[str]) -> tuple[str, int]:
    """The lines with some that say how the drawing looks among them, and how many of those there are."""
    found: list[str] = []
    count = 0
    for line in lines:
        if draw(st.booleans()):
            found.append(draw(st.sampled_from(looks)))
            count += 1
        found.append(line)
    return draw(st.sampled_from(["\n", "\r\n"])).join(found), count


@st.composite
def written_as_mermaid(draw: st.DrawFn) -> tuple[Flow, str, int]:
    """A sound flow, a Mermaid text that means it, and how many things in the text say only how it looks."""
    flow = draw(flows())
    lines: list[str] = []
    for node in flow.nodes.values():
        shapes = (
            ["{%s}"] if node.kind == "decision" else ["[%s]", "(%s)", "((%s))", "{{%s}}", "[/%s/]", "[(%s)]", ">%s]"]
        )
        lines.append(node.id + draw(st.sampled_from(shapes)) % _mermaid_label(node.label))
    for edge in flow.edges:
        ways = ["{}-->{}", "{} ---> {}", "{} -.-> {}", "{}==>{}"]
        if edge.label:
            ways = ["{} -->|{}| {}", "{} -.->|{}|{}", "{} -- {} --> {}", "{}=={}==>{}", "{} -. {} .-> {}"]
        label = [_mermaid_label(edge.label)] if edge.label else []
        lines.append(draw(st.sampled_from(ways)).format(edge.source, *label, edge.target))
    looks = [
        *(
            "style x fill:#f9f,stroke:#333",
            "classDef red fill:red;",
            "class x,y red",
            "linkStyle 0 stroke:red",
            "direction LR",
        ),
        *('click x "https://example.com" "a; b"', "accTitle: x --> y", "subgraph one [a --> b]\nend"),
    ]
    text, count = _decorated(draw, lines, looks)
    return flow, f"flowchart TD\n{text}", count


def _mermaid_label(text: str) -> str:
    numbered = {character: f"#{ord(character)};" for character in '#&"<`\n'}
    escaped = "".join(f"#{ord(c)};" if c.isspace() and c != " " else numbered.get(c, c) for c in text)
    return f'"{escaped}"'


@st.composite
def written_as_d2(draw: st.DrawFn) -> tuple[Flow, str, int]:
    """A sound flow, a D2 text that means it, and how many things in the text say only how it looks."""
    flow = draw(flows())
    lines: list[str] = []
    for node in flow.nodes.values():
        label, key = draw(_d2_value(node.label)), draw(st.sampled_from([node.id, f'"{node.id}"', f"'{node.id}'"]))
        shape = "diamond" if node.kind == "decision" else draw(st.sampled_from(["", "oval", "step"]))
        described = [f"{key}: {label}"]
        if shape and draw(st.booleans()):
            described = [f"{key}: {{shape: {shape}; label: {label}}}"]
        elif shape:
            described = [f"{key}: {label} {{ shape: {shape} }}"]
        lines += [*described, draw(st.sampled_from(["", "# a -> comment"]))]
    for edge in flow.edges:
        label = f": {draw(_d2_value(edge.label))}" if edge.label else ""
        ends = (edge.source, draw(st.sampled_from(["->", "-->"])), edge.target)
        if draw(st.booleans()):
            ends = (edge.target, draw(st.sampled_from(["<-", "<--"])), edge.source)
        lines.append(f"{' '.join(ends)}{label}")
    looks = [
        "direction: right",
        "vars: {\n  a -> b: {c}\n}",
        "*.style.fill: red",
        "(x -> y)[0].style.stroke: red",
        "grid-rows: 2",
    ]
    text, count = _decorated(draw, lines, looks)
    return flow, text, count


@st.composite
def _d2_value(draw: st.DrawFn, text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    ways = [f'"{escaped}"']
    if "\n" not in text:
        ways.append("'" + text.replace("'", "''") + "'")
    return draw(st.sampled_from(ways))


def shape(flow: Flow) -> Shape:
    """What a flow means, without where it was written."""
    nodes = [(node.id, node.kind, node.label) for node in flow.nodes.values()]
    return nodes, [(edge.source, edge.target, edge.label) for edge in flow.edges]


def misplaced(parse: Callable[[str], Flow], text: str) -> list[FlowProblem]:
    """What is wrong with a text, or passed over, as far as it is said without a place that the text has, or without words."""
    try:
        said = parse(text).warnings
    except FlowError as error:
        said = error.problems
    lines = text.replace("\r\n", "\n").split("\n")
    return [problem for problem in said if not _stands_in(problem, lines)]


def _stands_in(problem: FlowProblem, lines: Sequence[str]) -> bool:
    line, column = problem.place.line, problem.place.column
    return 1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 1 and bool(problem.message)

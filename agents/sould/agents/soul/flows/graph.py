"""A flow as a graph, and what makes one sound. Pure; knows neither the languages flows are written in nor the model."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct, field

from sould.agents.base.errors import SouldError

Kind: TypeAlias = Literal["begin", "end", "task", "decision"]


class SourcePlace(Struct, frozen=True):
    """Where something stands in its source; both count from 1."""

    line: int
    column: int


class FlowProblem(Struct, frozen=True):
    """One thing that is wrong with a flow."""

    message: str
    place: SourcePlace

    def __str__(self) -> str:
        return f"{self.place.line}:{self.place.column}: {self.message}"


class FlowError(SouldError):
    """A flow that cannot be run; `problems` has at least one entry."""

    kind = "flow"

    def __init__(self, *problems: FlowProblem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class Node(Struct, frozen=True):
    """A step. `label` is its prompt."""

    id: str
    kind: Kind
    label: str
    place: SourcePlace = SourcePlace(1, 1)


class Edge(Struct, frozen=True):
    """A way from one node to another; `label` is the answer that takes it, "" where there is no choice."""

    source: str
    target: str
    label: str = ""
    place: SourcePlace = SourcePlace(1, 1)


class Flow(Struct, frozen=True):
    """Made by `build`, so that it is always sound."""

    nodes: dict[str, Node]
    edges: tuple[Edge, ...]
    warnings: tuple[FlowProblem, ...] = ()
    """What of its drawing was passed over, because it says nothing about steps and edges."""

    @property
    def begin(self) -> Node:
        """Where it starts."""
        return next(node for node in self.nodes.values() if node.kind == "begin")

    def out(self, node_id: str) -> tuple[Edge, ...]:
        """The edges that leave a node, in the order they were written."""
        return tuple(edge for edge in self.edges if edge.source == node_id)

    def steps(self) -> tuple[Node, ...]:
        """Tasks and decisions in the order in which they are first reached."""
        order = _reach(self.begin.id, self.edges, forward=True)
        return tuple(self.nodes[node_id] for node_id in order if self.nodes[node_id].kind in ("task", "decision"))


class Sketch(Struct, frozen=True):
    """A node as a parser saw it: `decides` when its shape says so."""

    id: str
    label: str
    decides: bool
    place: SourcePlace


class Drawing(Struct):
    """What a parser saw of a flow, sound or not: every node and edge is here, or the parser refused the text."""

    nodes: dict[str, Sketch] = field(default_factory=dict[str, Sketch])
    edges: list[Edge] = field(default_factory=list[Edge])
    warnings: list[FlowProblem] = field(default_factory=list[FlowProblem])

    def flow(self) -> Flow:
        """See `build`."""
        return build(self.nodes.values(), self.edges, sorted(self.warnings, key=_by_place))


def build(sketches: Iterable[Sketch], edges: Iterable[Edge], warnings: Iterable[FlowProblem] = ()) -> Flow:
    """The flow, if it is sound.

    Raises:
        FlowError: with everything that is wrong.
    """
    edges = tuple(edges)
    leaving = Counter(edge.source for edge in edges)
    nodes = {each.id: Node(each.id, _kind(each, leaving[each.id]), each.label, each.place) for each in sketches}
    ends = list(_ends(nodes))
    problems = ends + list(_ways_out(nodes, edges))
    if not ends:
        problems += _unreachable(nodes, edges)
    if not problems:
        problems = list(_dead_ends(nodes, edges))
    if problems:
        raise FlowError(*sorted(problems, key=_by_place))
    return Flow(nodes, edges, tuple(warnings))


def _by_place(problem: FlowProblem) -> tuple[int, int]:
    return problem.place.line, problem.place.column


def _kind(sketch: Sketch, leaving: int) -> Kind:
    """BEGIN and END by label or id; a decision by its shape, or because more than one edge leaves it."""
    label = sketch.label.strip().casefold()
    if label == "begin" or sketch.id == "BEGIN":
        return "begin"
    if label == "end" or sketch.id == "END":
        return "end"
    return "decision" if sketch.decides or leaving > 1 else "task"


def _ends(nodes: dict[str, Node]) -> Iterator[FlowProblem]:
    for kind in ("begin", "end"):
        found = [node for node in nodes.values() if node.kind == kind]
        if not found:
            yield FlowProblem(f"there is no {kind.upper()} node", SourcePlace(1, 1))
        for node in found[1:]:
            yield FlowProblem(f"{node.id} is a second {kind.upper()}; there must be exactly one", node.place)


def _ways_out(nodes: dict[str, Node], edges: tuple[Edge, ...]) -> Iterator[FlowProblem]:
    leaving: dict[str, list[Edge]] = {}
    for edge in edges:
        leaving.setdefault(edge.source, []).append(edge)
    for node in nodes.values():
        out = leaving.get(node.id, [])
        if not node.label.strip():
            yield FlowProblem(f"{node.id} has no label: its label is the prompt", node.place)
        match node.kind:
            case "end":
                if out:
                    yield FlowProblem("nothing may follow END", out[0].place)
            case "begin":
                if len(out) != 1:
                    yield FlowProblem(f"exactly one edge must leave BEGIN, not {len(out)}", node.place)
                yield from (
                    FlowProblem("no edge may lead back to BEGIN", edge.place)
                    for edge in edges
                    if edge.target == node.id
                )
            case "task":
                if not out:
                    yield FlowProblem(f"no edge leaves {node.id}", node.place)
            case "decision":
                yield from _choices(node, out)


def _choices(node: Node, out: list[Edge]) -> Iterator[FlowProblem]:
    if len(out) < 2:
        yield FlowProblem(f"the decision {node.id} needs at least two edges, it has {len(out)}", node.place)
    seen: set[str] = set()
    for edge in out:
        if not edge.label.strip():
            yield FlowProblem(f"this edge of the decision {node.id} has no label", edge.place)
        elif edge.label in seen:
            yield FlowProblem(f"the decision {node.id} has two edges labelled {edge.label!r}", edge.place)
        seen.add(edge.label)


def _unreachable(nodes: dict[str, Node], edges: tuple[Edge, ...]) -> Iterator[FlowProblem]:
    begin = next(node.id for node in nodes.values() if node.kind == "begin")
    reached = _reach(begin, edges, forward=True)
    for node in nodes.values():
        if node.id not in reached:
            yield FlowProblem(f"{node.id} cannot be reached from BEGIN", node.place)


def _dead_ends(nodes: dict[str, Node], edges: tuple[Edge, ...]) -> Iterator[FlowProblem]:
    """Only where nothing else is wrong: a missing edge would be told again for every node before it."""
    end = next(node.id for node in nodes.values() if node.kind == "end")
    reaching = _reach(end, edges, forward=False)
    for node in nodes.values():
        if node.id not in reaching:
            yield FlowProblem(f"no path leads from {node.id} to END", node.place)


def _reach(start: str, edges: tuple[Edge, ...], *, forward: bool) -> dict[str, None]:
    """Every node on some way from (or to) `start`, nearest first."""
    ways: dict[str, list[str]] = {}
    for edge in edges:
        source, target = (edge.source, edge.target) if forward else (edge.target, edge.source)
        ways.setdefault(source, []).append(target)
    seen: dict[str, None] = {start: None}
    waiting = deque([start])
    while waiting:
        for target in ways.get(waiting.popleft(), ()):
            if target not in seen:
                seen[target] = None
                waiting.append(target)
    return seen

"""A flow drawn as text, for people without a renderer."""

import textwrap

from sould.agents.soul.flows.graph import Edge, Flow, Node

WIDTH = 64
_MARKS = {"begin": "●", "end": "◉", "task": "▢", "decision": "◇"}


def draw(flow: Flow) -> str:
    """Every node in the order in which it is reached, its prompt, and where each edge leads."""
    order = [flow.begin, *flow.steps(), *(node for node in flow.nodes.values() if node.kind == "end")]
    numbers = {node.id: number for number, node in enumerate(order)}
    leaving: dict[str, list[Edge]] = {}
    for edge in flow.edges:
        leaving.setdefault(edge.source, []).append(edge)
    lines: list[str] = []
    for number, node in enumerate(order):
        lines += _box(node, number)
        out = leaving.get(node.id, [])
        following = order[number + 1].id if number + 1 < len(order) else ""
        if len(out) == 1 and out[0].target == following:
            lines.append("   │")
            continue
        for index, edge in enumerate(out):
            corner = "└" if index == len(out) - 1 else "├"
            label = f" {' '.join(edge.label.split())} " if edge.label else ""
            target = flow.nodes[edge.target]
            lines.append(f"   {corner}─{label}→ {_name(target, numbers[target.id])}")
        if out:
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _box(node: Node, number: int) -> list[str]:
    if node.kind in ("begin", "end"):
        return [f" {_MARKS[node.kind]} {node.kind.upper()}"]
    wrapped = [line for part in node.label.splitlines() for line in textwrap.wrap(part, WIDTH) or [""]]
    head, *rest = wrapped or [""]
    return [f" {_MARKS[node.kind]} {number}. {head}", *(f"      {line}" for line in rest)]


def _name(node: Node, number: int) -> str:
    return node.kind.upper() if node.kind in ("begin", "end") else f"{number}. {node.id}"

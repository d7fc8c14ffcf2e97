"""What the user writes behind `/flow:NAME`, put into the flow's prompts. Pure."""

import re
import shlex

from msgspec.structs import replace

from sould.agents.soul.flows.graph import Flow

_PLACE = re.compile(r"\$(ARGUMENTS\b|[1-9]\d*)", re.ASCII)


def with_arguments(flow: Flow, arguments: str) -> Flow:
    """`$ARGUMENTS` is everything, `$1`, `$2` … the words; a flow without such places gets them at its first step (D33)."""
    arguments = arguments.strip()
    if any(_PLACE.search(node.label) for node in flow.nodes.values()):
        words = _words(arguments)

        def fill(found: "re.Match[str]") -> str:
            name = found.group(1)
            if name == "ARGUMENTS":
                return arguments
            return dict(enumerate(words, 1)).get(int(name[:9]), "")

        nodes = {node.id: replace(node, label=_PLACE.sub(fill, node.label)) for node in flow.nodes.values()}
        return replace(flow, nodes=nodes)
    steps = flow.steps()
    if not arguments or not steps:
        return flow
    first = steps[0]
    return replace(flow, nodes=flow.nodes | {first.id: replace(first, label=f"{first.label}\n\n{arguments}")})


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # an open quote is a mistake of no weight here
        return arguments.split()

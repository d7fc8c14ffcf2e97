"""What a summarising model answers, on one line, so that it fits a script."""

from sould.agents.soul.compaction.summary import SECTIONS


def summary_of(focus: str, **sections: str) -> str:
    """All six sections; those not given say nothing."""
    said = {"current_focus": focus, **sections}
    return "".join(f"<{name}>{said.get(name, 'None.')}</{name}>" for name in SECTIONS)

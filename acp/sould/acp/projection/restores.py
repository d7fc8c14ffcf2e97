"""A restore of files as a card: what went back and what was left, whoever asked for it. Pure."""

from sould.acp.content import text_block
from sould.acp.outbound import Json
from sould.acp.projection.titles import title
from sould.agents.soul.timetravel.outcome import LEFT, TAKE_KEPT, headline, line
from sould.agents.wire.messages import FilesRestored

MOST_NAMED = 100
"""Files that a card names."""


def restored(message: FilesRestored, cwd: str) -> Json:
    """The card; `_meta.sould.files` holds the same for programs."""
    files = message.files[:MOST_NAMED]
    lines = [f"- {line(file, cwd)}" for file in files]
    if len(message.files) > len(files):
        lines.append(f"- and {len(message.files) - len(files)} more")
    if message.can_take_kept:
        lines += ["", TAKE_KEPT]
    changed = [file.path for file in files if file.action not in LEFT]
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": f"restore-{message.restore_id}",
        "title": title(headline(message)),
        "kind": "edit",
        "status": "completed",
        "content": [{"type": "content", "content": text_block("\n".join(lines))}],
        "locations": [{"path": path} for path in changed],
        "_meta": {"sould": {"files": [file.model_dump(exclude_defaults=True) for file in files]}},
    }

"""Notices that are made here and now: every part of the soul that tells the user something makes it with this."""

import secrets
import time

from sould.agents.base.text import plural
from sould.agents.wire.messages import Notification

ANSWER = "answer"
"""The `category` of what somebody asked for: it is shown as words of the conversation, whatever a client makes of notices."""

TO_REVIEW = "to_review"
"""The `type` of how many `files` and `hunks` (its payload) a turn left to review."""


def notice(kind: str, title: str, body: str = "", *, severity: str = "info") -> Notification:
    """One sentence for the user, `kind` being its `type`; see `Notification`."""
    return Notification(
        id=secrets.token_hex(6), type=kind, title=title, body=body, severity=severity, created_at=time.time()
    )


def to_review(files: int, hunks: int) -> Notification:
    """What a turn left to review; each client says how that is opened in it."""
    title = f"{plural(files, 'file')} changed, {plural(hunks, 'hunk')} to review"
    return notice(TO_REVIEW, title).model_copy(update={"payload": {"files": files, "hunks": hunks}})


def answer_to(command: str, body: str, client_id: str, by: str) -> Notification:
    """What a command came to that was no turn: `body` is Markdown, `by` the name of the client that sent it."""
    sender = {"category": ANSWER, "source_kind": "client", "source_id": client_id, "payload": {"by": by}}
    return notice("command", command, body).model_copy(update=sender)

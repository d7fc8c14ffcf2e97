"""Notices that are made here and now: every part of the soul that tells the user something makes it with this."""

import secrets
import time

from sould.agents.base.text import plural
from sould.agents.wire.messages import ApprovalKind, ApprovalResponse, Notification, QuestionResponse, WireMessage

ANSWER = "answer"
"""The `category` of what somebody asked for: it is shown as words of the conversation, whatever a client makes of notices."""

TO_REVIEW = "to_review"
"""The `type` of how many `files` and `hunks` (its payload) a turn left to review."""


ANSWERED = "request_answered"
"""The `type` of the news, for a client that was asked, that somebody else has answered; `source_id` is the request."""

_DECIDED: dict[ApprovalKind, str] = {
    "approve": "allowed",
    "approve_for_session": "allowed for this session",
    "reject": "rejected",
}
_LASTING = {"project": "allowed in this project", "always": "always allowed"}


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


def answered_elsewhere_notice(message: WireMessage, request_id: str) -> Notification | None:
    """For a client that was asked and cannot be told by the answer itself how another answered; None: nobody did."""
    how = describe_answer(message)
    sender = {"source_kind": "request", "source_id": request_id}
    return notice(ANSWERED, how[0].upper() + how[1:]).model_copy(update=sender) if how else None


def describe_answer(message: WireMessage) -> str:
    """How a request was answered and by whom, for the dialogs that close with it; "" when nobody answered it."""
    match message:
        case ApprovalResponse(answered_by=by) if by:
            decided = _LASTING.get(message.lasting) or _DECIDED[message.response]
            how = f"{decided}{f': {message.feedback}' if message.feedback else ''}"
        case QuestionResponse(answered_by=by) if by:
            how = "; ".join(message.answers.values()) or ("declined" if message.declined else "dismissed")
        case _:
            return ""
    return f"answered elsewhere, by {by}: {how}"

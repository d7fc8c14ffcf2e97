"""Notices that are made here and now: every part of the soul that tells the user something makes it with this."""

import secrets
import time

from sould.agents.wire.messages import Notification


def notice(kind: str, title: str, body: str = "", *, severity: str = "info") -> Notification:
    """One sentence for the user, `kind` being its `type`; see `Notification`."""
    return Notification(
        id=secrets.token_hex(6), type=kind, title=title, body=body, severity=severity, created_at=time.time()
    )

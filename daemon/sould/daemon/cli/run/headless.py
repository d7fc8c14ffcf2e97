"""One turn without an editor: an ACP client of the user's daemon that opens a session, asks, shows, and leaves.

What nobody here can answer ends the run, never the session: it stays, and an editor can go on with it (D16).
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.daemon.cli.conversation import DaemonLink
from sould.daemon.cli.daemon_client import Asked, DaemonClient, Params
from sould.daemon.cli.output import (
    APPROVAL,
    BROKEN_PIPE,
    CANCELLED,
    FAILED,
    NO_MODEL,
    OK,
    TEMPORARY,
    USAGE,
    one_line,
)
from sould.daemon.cli.run.render import Renderer, RunResult, Update, content_text
from sould.daemon.cli.run.request import RunRequest
from sould.daemon.hello import VERSION
from sould.daemon.paths import Paths

if TYPE_CHECKING:
    from pydantic import JsonValue

    from sould.daemon.cli.run.dialogs import TerminalDialogs

AUTH_REQUIRED = -32000
TEMPORARY_KINDS = frozenset({"rate_limited", "connection", "timeout", "empty", "disk_full", "interrupted"})
NO_MODEL_KINDS = frozenset({"no_model", "auth"})
ENDINGS = {
    "max_tokens": "The answer was cut off: the model reached its token limit.",
    "max_turn_requests": "The turn was stopped at its step limit; `sould run --continue` continues it.",
    "refusal": "The prompt was refused, by the model or by a hook.",
}


class Headless:
    """The client. `run` is its whole life."""

    def __init__(self, request: RunRequest, renderer: Renderer) -> None:
        self._request = request
        self._renderer = renderer
        self._result = RunResult()
        self._link = DaemonLink(Paths(os.environ))
        self._daemon = DaemonClient(self._link, self)
        self._stopped_by = ""
        """Why we cancelled the turn: signal, timeout, approval, reader."""
        self._unanswered = ""
        """What nobody here could answer, as the user is told of it."""
        self._waiting = ""
        """What waited for an answer when the turn was cancelled."""
        self._dialogs: TerminalDialogs | None = None
        self._message_id: JsonValue = None
        self._misused = False
        """The model, mode or agent that was asked for cannot be had."""
        self._acted = False
        """Tools ran since the last text, so what comes is a new message."""
        self._kept = bool(request.session_id)
        """The session holds something: a new one is named by the first prompt that leaves anything in it."""

    def run(self) -> int:
        """Do it; the exit code."""
        began = time.monotonic()
        self._daemon.on_signals((signal.SIGINT, signal.SIGTERM), self._interrupt)
        try:
            self._link.attach()
            self._converse()
        except KeyboardInterrupt:
            self._end(CANCELLED, "Cancelled.", "cancelled")
        finally:
            self._link.close()
        self._result.took(time.monotonic() - began)
        if self._stopped_by != "reader":
            self._renderer.finish(self._result)
        return self._result.exit_code

    # --- what the daemon asks of us ---------------------------------------------------------------------------------

    def request(self, asked: Asked) -> None:
        """See `Handler`: permissions and forms are asked of a client without files."""
        if self._dialogs is None:
            from sould.daemon.cli.run.dialogs import TerminalDialogs  # noqa: PLC0415 -- a run that asks nothing starts without forms

            self._dialogs = TerminalDialogs(self._request, self._renderer, self._result, self)
        self._dialogs.answer(self._daemon, asked)

    def withdrawn(self, asked: Asked, reason: str) -> None:
        """See `Handler`."""
        if self._dialogs is not None:
            self._dialogs.withdraw(reason)

    @property
    def stopped(self) -> bool:
        """See `AskedRun`."""
        return bool(self._stopped_by)

    def give_up(self, why: str) -> None:
        """See `AskedRun`."""
        self._unanswered = self._unanswered or why
        self._stop("approval")

    def notification(self, method: str, params: Params) -> None:
        """See `Handler`."""
        if method != "session/update":
            return
        update: Update = params.get("update") or {}
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                if update.get("messageId") != self._message_id or self._acted:
                    self._message_id, self._acted = update.get("messageId"), False
                    self._result.begin_message()
                self._result.say(content_text(update.get("content")))
            case "tool_call":
                self._acted = True
            case "session_info_update":
                self._kept = True
            case "usage_update":
                self._result.use({key: update[key] for key in ("used", "size", "cost") if key in update})
            case _:
                pass
        self._show(update)

    def _show(self, update: Update) -> None:
        """A reader that left (`| head`) wants no more of the turn, either."""
        if self._stopped_by == "reader":
            return
        try:
            self._renderer.update(update)
        except BrokenPipeError:
            self._stop("reader")

    # --- the conversation -------------------------------------------------------------------------------------------

    def _converse(self) -> None:
        try:
            self._open()
            answer = self._prompt()
            self._conclude(str(answer.get("stopReason")), _own(answer))
        except RpcError as error:
            self._refused(error)
        except ConnectionGoneError:
            self._end(TEMPORARY, self._link.error or "The daemon ended the connection; see: sould logs", "connection")
        if self._result.session_id and not self._kept:  # there is nothing in it to go on from
            with contextlib.suppress(RpcError, ConnectionGoneError):
                self._daemon.request("session/close", {"sessionId": self._result.session_id})
            self._result.closed()

    def _open(self) -> None:
        request = self._request
        self._daemon.request(
            "initialize",
            {
                "protocolVersion": 1,
                "clientInfo": {"name": "sould-run", "title": "sould run", "version": VERSION},
                "clientCapabilities": {
                    "session": {"notices": {}, "compaction": {}},
                    # without a terminal, too: what is asked in words instead would wait for a prompt that never comes
                    "elicitation": {"form": {}},
                    "_meta": {"sould": {"questions": request.can_ask, "rememberChoices": False, "ownTurns": True}},
                },
            },
        )
        place: Params = {"cwd": request.cwd, "mcpServers": []}
        if request.additional:
            place["additionalDirectories"] = list(request.additional)
        if request.session_id:
            opened = self._daemon.request("session/resume", {"sessionId": request.session_id, **place})
            self._result.opened(request.session_id, request.cwd, _worktree(opened))
        else:
            if request.worktree is not None:
                place["_meta"] = {"sould": {"worktree": request.worktree or True}}
            opened = self._daemon.request("session/new", place)
            self._result.opened(str(opened["sessionId"]), request.cwd, _worktree(opened))
        self._renderer.session(self._result)
        for option, value in (("agent", request.agent), ("model", request.model), ("mode", request.mode)):
            if value:
                self._set(option, value)

    def _set(self, option: str, value: str) -> None:
        """A wrong choice is wrong usage, and leaves no empty session behind."""
        session_id = self._result.session_id
        try:
            self._daemon.request(
                "session/set_config_option", {"sessionId": session_id, "configId": option, "value": value}
            )
        except RpcError:
            if not self._request.session_id:
                self._daemon.request("session/delete", {"sessionId": session_id})
                self._result.closed()
            self._misused = True
            raise

    def _prompt(self) -> "dict[str, JsonValue]":
        """The answer; when the time is up the turn is cancelled, and its own end waited for."""
        if self._request.timeout_s is not None:
            self._daemon.after(self._request.timeout_s, lambda: self._stop("timeout"))
        prompt = [{"type": "text", "text": self._request.text}]
        return self._daemon.request("session/prompt", {"sessionId": self._result.session_id, "prompt": prompt})

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """The first Ctrl-C cancels the turn and waits for its end; the second leaves at once."""
        if sys.stderr.isatty():
            os.write(2, b"\n")  # behind the ^C that the terminal shows; what we print may just be under way
        if self._stopped_by == "signal" or not self._result.session_id:
            raise KeyboardInterrupt
        self._waiting = self._dialogs.waiting if self._dialogs is not None else ""
        self._stop("signal")

    def _stop(self, reason: str) -> None:
        self._stopped_by = self._stopped_by or reason
        if self._result.session_id:
            self._daemon.notify("session/cancel", {"sessionId": self._result.session_id})

    # --- how it ended -----------------------------------------------------------------------------------------------

    def _conclude(self, stop_reason: str, own: "Mapping[str, JsonValue]") -> None:
        self._result.stop(stop_reason)
        if self._stopped_by == "reader":
            self._result.end(BROKEN_PIPE)
        elif stop_reason == "end_turn":
            self._result.end(FAILED if own.get("kind") == "command_failed" else OK)
        elif own.get("kind") == "interrupted":
            self._end(TEMPORARY, str(own.get("details")), "interrupted")
        elif stop_reason != "cancelled":
            self._end(FAILED, ENDINGS.get(stop_reason, f"The turn ended: {stop_reason}."), stop_reason)
        elif self._stopped_by == "approval":
            self._end(APPROVAL, self._unanswered, "approval_required")
        elif self._stopped_by == "timeout":
            self._end(TEMPORARY, f"Cancelled after {self._request.timeout_s:g} s (--timeout).", "timeout")
        else:
            asked = f" It waited for your answer: {one_line(self._waiting, 120)}" if self._waiting else ""
            self._end(CANCELLED, f"Cancelled.{asked}", "cancelled")

    def _refused(self, error: RpcError) -> None:
        data = cast("dict[str, Any]", error.data) if isinstance(error.data, dict) else {}
        kind = str(data.get("kind") or "")
        if self._misused:
            code = USAGE
        elif error.code == AUTH_REQUIRED or kind in NO_MODEL_KINDS:
            code = NO_MODEL
        elif kind == "no_credit":
            code = FAILED
        elif is_temporary(data):
            code = TEMPORARY
        else:
            code = FAILED
        self._end(code, error.message, kind or "error")

    def _end(self, code: int, sentence: str, kind: str) -> None:
        self._result.end(code, sentence, kind)


def is_temporary(data: Mapping[str, Any]) -> bool:
    """Whether what failed may work later, by the data of its error."""
    return data.get("kind") in TEMPORARY_KINDS or data.get("status") in (408, 429, 500, 502, 503, 504, 529)


def _own(answer: "Mapping[str, JsonValue]") -> "Mapping[str, JsonValue]":
    """What sould says in an answer beyond the protocol."""
    meta = answer.get("_meta")
    own = meta.get("sould") if isinstance(meta, dict) else None
    return own if isinstance(own, dict) else {}


def _worktree(opened: "Mapping[str, JsonValue]") -> Update:
    """Where a session works that has a worktree of its own; empty of any other."""
    own = _own(opened)
    worktree = own.get("worktree")
    return {"cwd": own.get("cwd"), "branch": worktree.get("branch")} if isinstance(worktree, dict) else {}

"""`sould kimi --print`: a Wire client of the daemon that sends prompts, one after another, and prints as kimi-cli does.

It opens its session as `--wire` does, with the same options. What is asked of it ends the run: nobody is here to answer.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol, cast

import click
from pydantic import BaseModel

from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.wire.messages import parse
from sould.daemon.cli.conversation import DaemonLink
from sould.daemon.cli.daemon_client import Asked, DaemonClient, Params
from sould.daemon.cli.output import FAILED, TEMPORARY, CommandError, complain, one_line, visible
from sould.daemon.cli.run.headless import is_temporary
from sould.daemon.hello import VERSION
from sould.daemon.paths import Paths
from sould.daemon.wire.kimi import NAME

CANCEL_S: Final = 5.0
"""So long an end waits until the turn is cancelled."""
_ENDINGS: Final = {
    "cancelled": "The turn was cancelled.",
    "max_steps_reached": "The turn was stopped at its step limit; --max-steps-per-turn raises it.",
}


class PrintFormat(NamedTuple):
    """How answers are printed: as a message in JSON a line, or as text; `final`: only the last message of a turn."""

    stream: bool
    final: bool


class Printer(Protocol):
    """Prints what happens in a turn."""

    def feed(self, kind: str, payload: Params) -> None:
        """An event of Wire, whole."""
        ...

    def flush(self) -> None:
        """The turn is over."""
        ...


class EventPrinter:
    """Each event with its fields, a line each."""

    def feed(self, kind: str, payload: Params) -> None:
        """See `Printer`."""
        click.echo(_shown(parse({"type": kind, "payload": payload})))

    def flush(self) -> None:
        """See `Printer`: nothing is held back."""


def _shown(value: object) -> str:
    if isinstance(value, BaseModel):
        fields = (f"{name}={_shown(field)}" for name, field in value if name in value.model_fields_set)
        return f"{type(value).__name__}({', '.join(fields)})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, cast('Sequence[object]', value)))}]"
    return repr(value)


class MessagePrinter:
    """Messages of the model and of tools, in the shape in which models are sent them."""

    def __init__(self) -> None:
        self._content: list[Params] = []
        self._calls: list[Params] = []
        self._notices: list[Params] = []
        """Notifications that wait for the end of a message."""

    def feed(self, kind: str, payload: Params) -> None:
        """See `Printer`."""
        match kind:
            case "StepBegin" | "StepInterrupted":
                self.flush()
            case "StepRetry":
                self._content, self._calls = [], []
                self.flush()
            case "ContentPart":
                _join(self._content, payload)
            case "ToolCall":
                self._calls.append({**_without_null(payload), "function": _without_null(payload["function"])})
            case "ToolResult":
                self.flush()
                content = _plain(_result_parts(payload["return_value"]))
                _print_json({"role": "tool", "content": content, "tool_call_id": payload["tool_call_id"]})
            case "PlanDisplay":
                self.flush()
                _print_json(payload)
            case "Notification":
                self._notices.append(_without_null(payload))
                if not self._content and not self._calls:
                    self.flush()
            case _:
                pass

    def flush(self) -> None:
        """See `Printer`."""
        if self._content or self._calls:
            calls = {"tool_calls": self._calls} if self._calls else {}
            _print_json({"role": "assistant", "content": _plain(self._content), **calls})
        for notice in self._notices:
            _print_json(notice)
        self._content, self._calls, self._notices = [], [], []


class FinalPrinter:
    """The text of the last message of a turn."""

    def __init__(self, *, stream: bool) -> None:
        self._stream = stream
        self._text = ""

    def feed(self, kind: str, payload: Params) -> None:
        """See `Printer`."""
        if kind in ("StepBegin", "StepInterrupted", "StepRetry"):
            self._text = ""
        elif kind == "ContentPart" and payload["type"] == "text":
            self._text += payload["text"]

    def flush(self) -> None:
        """See `Printer`."""
        text, self._text = self._text, ""
        if text and self._stream:
            _print_json({"role": "assistant", "content": text})
        elif text:
            click.echo(visible(text) if sys.stdout.isatty() else text)


def _join(content: list[Params], part: Params) -> None:
    """Text that goes on is one part, and so is thinking up to its signature."""
    last = content[-1] if content else {}
    kind = part["type"]
    if last.get("type") != kind or kind not in ("text", "think") or last.get("encrypted"):
        content.append(dict(part))
    else:
        last.update(part, **{kind: last[kind] + part[kind]})


def _result_parts(value: Params) -> list[Params]:
    """The content of a tool's message: what the tool says of the call, then what it gave."""
    output, message = value["output"], value["message"]
    said = f"ERROR: {message}" if value["is_error"] else message
    parts = [_system(said)] if said else []
    parts += ([{"type": "text", "text": output}] if output else []) if isinstance(output, str) else output
    if not parts:
        return [_system("Tool output is empty.")]
    text = any(part["type"] == "text" for part in parts)
    return parts if text else [_system("Tool returned non-text content."), *parts]


def _system(text: str) -> Params:
    return {"type": "text", "text": f"<system>{text}</system>"}


def _plain(content: Sequence[Params]) -> str | Sequence[Params]:
    """One text alone is a string."""
    return content[0]["text"] if len(content) == 1 and content[0]["type"] == "text" else content


def _without_null(fields: Params) -> Params:
    return {key: value for key, value in fields.items() if value is not None}


def _print_json(message: Params) -> None:
    click.echo(json.dumps(message, ensure_ascii=sys.stdout.isatty(), separators=(",", ":")))


class KimiPrint:
    """The client. `run` is its whole life; `options` are those of `sould kimi --wire`."""

    def __init__(self, options: Sequence[str], form: PrintFormat) -> None:
        self._link = DaemonLink(Paths(os.environ), "wire", (NAME, *options))
        self._daemon = DaemonClient(self._link, self)
        self._echoes = not form.stream and not form.final
        self._printer: Printer = (
            FinalPrinter(stream=form.stream) if form.final else MessagePrinter() if form.stream else EventPrinter()
        )
        self._begun = False
        """The turn of our prompt has: what happens before is of one that another program gave the session."""
        self._waits = False
        """Our prompt has no answer yet."""
        self._leaving = False
        """Nothing more is printed."""

    def run(self, prompts: Iterable[str]) -> None:
        """Do one prompt after another, up to the first that fails.

        Raises:
            CommandError: it failed, with the exit code that kimi-cli has for it.
        """
        prompted, session = False, ""
        try:
            for prompt in prompts:
                session = session or self._open()
                prompted = True
                self._prompt(prompt)
        except RpcError as error:
            data = cast("dict[str, Any]", error.data) if isinstance(error.data, dict) else {}
            raise CommandError(error.message, TEMPORARY if is_temporary(data) else FAILED) from None
        except ConnectionGoneError:
            raise CommandError(
                self._link.error or "The daemon ended the connection; see: sould logs", TEMPORARY
            ) from None
        except KeyboardInterrupt:
            self._cancel()
            raise CommandError("Interrupted.", FAILED) from None
        except (BrokenPipeError, CommandError):
            self._cancel()
            raise
        finally:
            self._link.close()
            if prompted:
                click.echo(f"\nTo resume this session: sould-kimi -r {session}", err=True)

    def _open(self) -> str:
        """Open the session; its id."""
        self._link.attach()
        said = {
            "protocol_version": "1.10",
            "client": {"name": "sould-kimi --print", "version": VERSION},
            "capabilities": {},
            "sould": {"view": "merged", "queue": True},
        }
        return self._daemon.request("initialize", said)["sould"]["session_id"]

    def _prompt(self, text: str) -> None:
        if self._echoes:
            click.echo(text)
        self._begun, self._waits = False, True
        try:
            status = self._daemon.request("prompt", {"user_input": text})["status"]
            self._waits = False
        finally:
            if not self._leaving:
                self._printer.flush()
        if status in _ENDINGS:
            raise CommandError(_ENDINGS[status], FAILED)

    def _cancel(self) -> None:
        self._leaving = True
        if not self._waits:
            return  # the turn that runs may be another program's
        with contextlib.suppress(RpcError, ConnectionGoneError, TimeoutError):
            self._daemon.request("cancel", {}, CANCEL_S)

    # --- what the daemon says: a `RequestHandler` ---------------------------------------------------------------------

    def notification(self, method: str, params: Params) -> None:
        """See `RequestHandler`."""
        if method != "event" or self._leaving:
            return
        kind, payload = params["type"], params["payload"]
        self._begun = self._begun or kind == "TurnBegin"
        if not self._begun and kind != "Notification":
            return
        if kind == "Notification" and payload["category"] != "task" and not self._echoes:
            if payload["severity"] in ("warning", "error"):  # programs do not expect them among messages
                complain(": ".join(filter(None, (payload["title"], payload["body"]))))
            return
        self._printer.feed(kind, payload)

    def request(self, asked: Asked) -> None:
        """See `RequestHandler`: it stays unanswered, and the turn is cancelled."""
        if self._leaving or not self._begun:
            return  # what ends with the turn, or is asked in another program's
        what = one_line(str(asked.params["payload"].get("description") or asked.params["type"]), 200)
        raise CommandError(
            f"It needs an approval that nobody here can give: {what}. --print allows everything.", FAILED
        )

    def withdrawn(self, asked: Asked, reason: str) -> None:
        """See `RequestHandler`: Wire withdraws nothing."""

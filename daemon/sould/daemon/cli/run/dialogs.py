"""What the daemon asks of `sould run`: permissions and forms, put to the person at the terminal, one at a time.

What nobody here can answer ends the run. Loaded when something is asked.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import click
from pydantic import BaseModel, Field, JsonValue, ValidationError

from sould.agents.base.rpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from sould.agents.permissions.visible import both_ends, cut_to
from sould.daemon.cli.daemon_client import Asked, DaemonClient, Params, withdrawal
from sould.daemon.cli.output import one_line, visible
from sould.daemon.cli.run.render import DIFF_LINES, Renderer, RunResult, Update, content_text, diffs
from sould.daemon.cli.run.request import RunRequest
from sould.daemon.cli.terminal.forms import ClosedInputError, Form, fill, from_server
from sould.daemon.cli.terminal.keyboard import forget_typed, read_line
from sould.daemon.cli.terminal.serverforms import DeclinedError, TypedForm, fill_typed

DETAILS = 30
"""Lines shown of what a call would do, each of them whole: the end of a line decides as much as its beginning.

A command is shown whole."""
KEYS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "never"}
WORDS = {"yes": "y", "always": "a", "no": "n"}
"""What people type in place of a key."""
OWN_KEYS = {"allow_always_also_changed": "c", "allow_always_project": "w", "allow_always_everywhere": "e"}
"""By the id, where two options are of a kind."""
ALL = "v"
_CODE = re.compile(r"(`+)\n(.*)\n\1", re.DOTALL)
_WORDS = re.compile(r"(`+) (.*) \1")
T = TypeVar("T")


class DialogOption(BaseModel):
    """One answer on offer, in ACP's words."""

    option_id: str = Field(alias="optionId")
    name: str = ""
    kind: str = ""


class PermissionDialog(BaseModel):
    """The parameters of `session/request_permission` that are used here."""

    tool_call: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue], alias="toolCall")
    options: list[DialogOption] = Field(default_factory=list[DialogOption])
    meta: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue], alias="_meta")

    @property
    def is_output(self) -> bool:
        """The call has run, and what it brought waits to be passed on."""
        return self._own.get("output") is True

    @property
    def in_every_mode(self) -> bool:
        """No mode lets it go ahead unasked."""
        return self._own.get("inEveryMode") is True

    @property
    def reason(self) -> str:
        """Why it is asked, on one line; "" where the mode is the reason."""
        return ", ".join(str(self._own.get("reason") or "").splitlines())

    @property
    def _own(self) -> dict[str, JsonValue]:
        """What sould says in it beyond the protocol."""
        own = self.meta.get("sould")
        return own if isinstance(own, dict) else {}

    @property
    def title(self) -> str:
        """What it is about."""
        return str(self.tool_call.get("title") or "a tool call")

    @property
    def command(self) -> list[str]:
        """The lines that would be run; none where it is no command, or the title says all of it."""
        first = next(iter(self._texts), "")
        is_command = self.tool_call.get("kind") == "execute" and not self.is_output and _CODE.fullmatch(first)
        lines = _shown(first) if is_command else []
        return lines if lines != [self.title] else []

    @property
    def words(self) -> list[str]:
        """What is said beside the title, which is shown with every call, and beside the command."""
        others = self._texts[1:] if self.command else self._texts
        return [line for lines in map(_shown, others) if lines != [self.title] for line in lines]

    @property
    def _texts(self) -> list[str]:
        blocks = self.tool_call.get("content")
        known = blocks if isinstance(blocks, list) else []
        return [content_text(block.get("content")) for block in known if isinstance(block, dict)]

    @property
    def is_cut(self) -> bool:
        """Not everything is shown at first."""
        return len(self.words) > DETAILS or len(diffs(self.tool_call)) > DIFF_LINES

    @property
    def choices(self) -> dict[str, DialogOption]:
        """The options by the key that chooses them."""
        return {
            OWN_KEYS.get(option.option_id) or KEYS.get(option.kind, option.option_id): option for option in self.options
        }

    def question(self, *, whole: bool = False) -> str:
        """What is asked, and what can be answered."""
        words = both_ends(self.words, None if whole else DETAILS)
        options = {key: option.name for key, option in self.choices.items()}
        if self.is_cut and not whole:
            options[ALL] = "View all"
        offered = "  ".join(f"[{key}] {one_line(name, 80)}" for key, name in options.items())
        asks = "Pass on to the model?" if self.is_output else "May I run this?" if self.command else "May I?"
        about = () if self.command else (visible(self.title),)
        title = " ".join((click.style("?", fg="yellow"), asks, *about))
        command = _with_end(self.command)
        return "\n  ".join([*(diffs(self.tool_call) if whole else ()), title, *command, *words, offered])


async def ask(asked: PermissionDialog) -> tuple[str, str] | None:
    """The id of the chosen option, and what the agent is told with it; None at the end of input.

    Words behind the key of an answer for this once are that.
    """
    choices = asked.choices
    click.echo(asked.question(), err=True)
    while line := await read_line():
        key, _, why = line.strip().partition(" ")
        key = key.lower().rstrip(",:")
        option = choices.get(WORDS.get(key, key))
        if option is not None and (not why or option.kind in ("allow_once", "reject_once")):
            return option.option_id, why.strip()
        if key == ALL and not why:
            click.echo(asked.question(whole=True), err=True)
            continue
        click.echo(f"  Type one of: {', '.join(choices)}; text after y or n is for the agent", err=True)
    return None


def _with_end(command: list[str]) -> list[str]:
    """All of it, however long: of one whose beginning may have left the screen its end is said to be that."""
    return [*command, f"(end of the command, {len(command)} lines)"] if len(command) > DETAILS else command


def _shown(text: str) -> list[str]:
    return [visible(line) for line in _plain(text)]


def _plain(text: str) -> list[str]:
    """The lines of a text of the daemon's, without the marks that keep editors from taking it for Markdown."""
    code = _CODE.fullmatch(text)
    if code is not None:
        return code[2].split("\n")
    paragraphs = [line for line in text.split("\n") if line.strip()]
    return [words[2] if (words := _WORDS.fullmatch(line)) else line for line in paragraphs]


class AskedRun(Protocol):
    """The run whose daemon asks."""

    @property
    def stopped(self) -> bool:
        """Its turn was cancelled from here."""
        ...

    def give_up(self, why: str) -> None:
        """Nobody here can answer: end the turn, and say why."""
        ...


class TerminalDialogs:
    """Of one run."""

    def __init__(self, request: RunRequest, renderer: Renderer, result: RunResult, run: AskedRun) -> None:
        self._request = request
        self._renderer = renderer
        self._result = result
        self._run = run
        self._answering: asyncio.Task[None] | None = None
        self.waiting = ""
        """What waits for the person's answer, in words; "" while nothing does."""

    def answer(self, daemon: DaemonClient, asked: Asked) -> None:
        """Put it to the person; `daemon` is served meanwhile."""
        asyncio.run(self._answer(daemon, asked))

    def withdraw(self, reason: str) -> None:
        """What is being asked needs no answer any more."""
        if self._answering is not None:
            self._answering.cancel(reason)

    async def _answer(self, daemon: DaemonClient, asked: Asked) -> None:
        self._answering = asyncio.current_task()
        try:
            with _served(daemon, lambda: self.withdraw("the daemon is gone")):
                result = await self._request_of(asked.method, asked.params)
        except asyncio.CancelledError:
            daemon.refuse(asked, withdrawal())
        except RpcError as error:
            daemon.refuse(asked, error)
        except ValidationError:
            daemon.refuse(asked, RpcError(INVALID_PARAMS, f"`sould run` does not understand this {asked.method}."))
        else:
            daemon.answer(asked, result)
        finally:
            self._answering, self.waiting = None, ""

    async def _request_of(self, method: str, params: Params) -> Params:
        match method:
            case "session/request_permission":
                return await self._permission(PermissionDialog.model_validate(params))
            case "elicitation/create" if from_server(params):
                return await self._server_form(TypedForm.model_validate(params))
            case "elicitation/create":
                return await self._form(Form.model_validate(params))
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"`sould run` does not know {method[:60]}.")

    async def _permission(self, asked: PermissionDialog) -> Params:
        if not self._request.can_ask:
            self._renderer.permission(asked.tool_call)
            self._renderer.answered()
        chosen = await self._asked(asked.tool_call, asked.title, lambda: ask(asked)) if self._request.can_ask else None
        if chosen is None:
            self._run.give_up(self._needs_approval(asked))
            return {"outcome": {"outcome": "cancelled"}}
        option_id, why = chosen
        told = {"_meta": {"sould": {"feedback": why}}} if why else {}
        return {"outcome": {"outcome": "selected", "optionId": option_id}, **told}

    async def _form(self, form: Form) -> Params:
        call: Update = {"toolCallId": form.call_id} if form.call_id else {}
        try:
            return {"action": "accept", "content": await self._asked(call, form.title, lambda: fill(form))}
        except ClosedInputError:
            self._run.give_up(self._needs_answer(form.title))
            return {"action": "cancel"}

    async def _server_form(self, asked: TypedForm) -> Params:
        title = asked.message.split("\n", 1)[0]
        try:
            return {"action": "accept", "content": await self._asked({}, title, lambda: fill_typed(asked.form))}
        except DeclinedError:
            return {"action": "decline"}
        except ClosedInputError:
            self._run.give_up(self._needs_answer(title))
            return {"action": "cancel"}

    async def _asked(self, call: Update, title: str, asking: Callable[[], Awaitable[T]]) -> T:
        """One dialog at a time, directly below what it is about. One that was answered elsewhere says so and is over.

        Raises:
            ClosedInputError: nobody is there.
        """
        if not self._request.can_ask:
            raise ClosedInputError
        self.waiting = title
        self._renderer.permission(call)
        forget_typed()
        try:
            return await asking()
        except asyncio.CancelledError as closed:
            if not self._run.stopped:
                why = str(closed.args[0] if any(closed.args) else "withdrawn")
                click.echo(f"  ({one_line(why, 200)})", err=True)
            raise
        finally:
            self._renderer.answered()

    def _needs_answer(self, title: str) -> str:
        return (
            f"This needs your answer, and nobody can give it here: {cut_to(visible(title), 120)} "
            f"Continue at a terminal or in an editor, with session {self._result.session_id}."
        )

    def _needs_approval(self, asked: PermissionDialog) -> str:
        if asked.is_output:
            return (
                f"A rule of yours wants you to see what came back before the model does, and nobody can look at it here, so it "
                f"was withheld: {cut_to(visible(asked.title), 120)}. Run it at a terminal, or continue in an editor with "
                f"session {self._result.session_id}."
            )
        why = f" ({cut_to(visible(asked.reason), 200)})" if asked.reason else ""
        # what asks in spite of a mode asks in it every time: nobody is helped by being told to choose it
        edits = asked.tool_call.get("kind") == "edit" and self._request.mode != "review"
        softer = "--mode review (edits without asking) or " if edits else ""
        asks_anyway = asked.in_every_mode or self._request.mode in ("full", "afk")
        modes = "" if asks_anyway else f"with {softer}--yes (everything), "
        return (
            f"This needs your approval, and nobody can give it here: {cut_to(visible(asked.title), 120)}{why}. "
            f"Run it {modes}at a terminal, or continue in an editor with session {self._result.session_id}."
        )


@contextmanager
def _served(daemon: DaemonClient, on_gone: Callable[[], None]) -> Generator[None]:
    """While this goes on, what comes from the daemon, and what is due, is taken by the running loop."""
    loop = asyncio.get_running_loop()
    watched: list[int] = []
    timers: list[asyncio.TimerHandle] = []

    def forget() -> None:
        while watched:
            loop.remove_reader(watched.pop())
        while timers:
            timers.pop().cancel()

    def watch() -> None:
        for descriptor in daemon.descriptors:
            loop.add_reader(descriptor, take)
            watched.append(descriptor)
        if daemon.patience_s is not None:
            timers.append(loop.call_later(daemon.patience_s, take))

    def take() -> None:
        forget()
        daemon.take()
        watch()
        if daemon.gone:
            on_gone()

    watch()
    try:
        yield
    finally:
        forget()

"""What the daemon asks of `sould run`: permissions and forms, put to the person at the terminal, one at a time.

What nobody here can answer ends the run. Loaded when something is asked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import click
from pydantic import ValidationError

from sould.agents.base.rpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from sould.agents.permissions.visible import cut_to
from sould.daemon.cli.daemon_client import Asked, DaemonClient, Params, withdrawal
from sould.daemon.cli.output import one_line, visible
from sould.daemon.cli.run.prompting import Permission, ask
from sould.daemon.cli.run.render import Renderer, Result, Update
from sould.daemon.cli.run.request import Request
from sould.daemon.cli.terminal.forms import ClosedInputError, Form, fill, from_server
from sould.daemon.cli.terminal.keyboard import forget_typed
from sould.daemon.cli.terminal.serverforms import DeclinedError, TypedForm, fill_typed

T = TypeVar("T")


class AskedRun(Protocol):
    """The run whose daemon asks."""

    @property
    def stopped(self) -> bool:
        """Its turn was cancelled from here."""
        ...

    def give_up(self, why: str) -> None:
        """Nobody here can answer: end the turn, and say why."""
        ...


class Dialogs:
    """Of one run."""

    def __init__(self, request: Request, renderer: Renderer, result: Result, run: AskedRun) -> None:
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
                return await self._permission(Permission.model_validate(params))
            case "elicitation/create" if from_server(params):
                return await self._server_form(TypedForm.model_validate(params))
            case "elicitation/create":
                return await self._form(Form.model_validate(params))
            case _:
                raise RpcError(METHOD_NOT_FOUND, f"`sould run` does not know {method[:60]}.")

    async def _permission(self, asked: Permission) -> Params:
        if not self._request.can_ask:
            self._renderer.permission(asked.tool_call)
            self._renderer.answered()
        chosen = await self._asked(asked.tool_call, asked.title, lambda: ask(asked)) if self._request.can_ask else None
        if chosen is None:
            self._run.give_up(self._needs_approval(asked))
            return {"outcome": {"outcome": "cancelled"}}
        why = {"_meta": {"sould": {"feedback": chosen.why}}} if chosen.why else {}
        return {"outcome": {"outcome": "selected", "optionId": chosen.option_id}, **why}

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

    def _needs_approval(self, asked: Permission) -> str:
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

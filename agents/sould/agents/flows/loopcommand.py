"""`/loop`, and the prompts of a session that loops: beginning, stopping and taking up loops."""

import asyncio
import secrets
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sould.agents.config import Config
from sould.agents.errors import SouldError
from sould.agents.flows.looprequest import USAGE, LoopRequest, parse_request
from sould.agents.flows.loopstate import Budget, LoopState
from sould.agents.flows.ralph import LoopRunner, loop_flow
from sould.agents.flows.runner import Agent
from sould.agents.flows.spending import Spending
from sould.agents.sessions.commands import Entry, SlashCommand, say
from sould.agents.sessions.options import Choice, SessionOption
from sould.agents.soul.loop import Ending
from sould.agents.wire.content import UserInput, input_text
from sould.agents.wire.messages import ContextNote, Notification

if TYPE_CHECKING:
    from sould.agents.sessions.session import Session

_OFFERED = (0, 1, 3, 5, 10, 25, -1)
DEFAULT_LIMIT = 10
"""Iterations after the first, where neither the user nor the configuration says."""


def loop_commands() -> Iterator[Entry]:
    """The command."""
    hint = "[N|off] prompt, or resume"
    yield SlashCommand("loop", "Repeat a task until it is complete", hint), _loop


async def prompt_turn(session: "Session", user_input: UserInput) -> Ending:
    """A prompt that is no command: one turn of the agent, or a loop where the session or the configuration says so."""
    limit = session.loop_limit
    text = input_text(user_input)
    if limit == 0 or not text.strip():
        return await session.soul.turn(session.current_turn)
    return await _begin(session, LoopRequest("start", limit, text), told=True)


async def _loop(session: "Session", argument: str) -> Ending:
    request = parse_request(argument)
    match request.action:
        case "status":
            return say(session, _describe(session.loops.load(session.id)))
        case "off":
            return say(session, await _off(session))
        case "resume":
            return await _resume(session, request.session_id)
        case "start":
            return await _start(session, request)


async def _start(session: "Session", request: LoopRequest) -> Ending:
    if not request.prompt:
        await session.repeat_prompts(DEFAULT_LIMIT if request.limit is None else request.limit)
        return say(
            session, f"From now on prompts of this session loop ({_times(request.limit)}); `/loop off` ends that."
        )
    if request.limit == 0:
        session.log.publish(ContextNote(text=request.prompt))
        return await session.soul.turn(session.current_turn)
    return await _begin(session, request, told=False)


async def _begin(session: "Session", request: LoopRequest, *, told: bool) -> Ending:
    limit = request.limit
    if limit is None:
        limit = session.loop_limit or DEFAULT_LIMIT
    loop = LoopState(
        session_id=session.id,
        cwd=session.info.cwd,
        prompt=request.prompt,
        limit=limit,
        budget=_budget(session.config, request.budget),
    )
    return await _run(session, loop, told=told)


def _budget(config: Config, asked: Budget) -> Budget:
    control = config.loop_control
    return Budget(
        tokens=asked.tokens or control.ralph_max_tokens,
        cost=asked.cost or control.ralph_max_cost,
        seconds=asked.seconds or control.ralph_max_time_s,
    )


async def _resume(session: "Session", session_id: str) -> Ending:
    loop = session.loops.load(session_id or session.id)
    if loop is None:
        raise SouldError(f"There is no loop to resume. {USAGE}")
    if loop.session_id != session.id:
        live = session.loops.load(session.id)
        if live is not None and live.status != "finished":
            raise SouldError("This session has a loop of its own; end it with `/loop off` first.")
        if loop.cwd != session.info.cwd:
            raise SouldError(f"That loop belongs to {loop.cwd}; resume it there.")
        session.loops.delete(loop.session_id)
        loop = loop.model_copy(update={"session_id": session.id, "checkpoints": []})
    elif loop.status == "finished":
        raise SouldError(f"The loop is finished: {loop.reason}.")
    loop.status, loop.reason, loop.rollbacks = "running", "", 0
    return await _run(session, loop, told=False)


async def _run(session: "Session", loop: LoopState, *, told: bool) -> Ending:
    """Run it and leave an honest state behind, whatever ends it."""
    session.loops.save(loop)
    agent = Agent(session.log, session.soul, session.current_turn)
    meter = session.soul.model.meter
    spending = Spending(session.log, loop.budget, loop.spent, lambda: meter.cost)
    runner = LoopRunner(
        loop_flow(loop.prompt),
        agent,
        session.config.flows.model_copy(update={"max_moves": 10**15}),
        loop=loop,
        store=session.loops,
        told=told,
        go_back=lambda checkpoint: _go_back(session, checkpoint),
        exhausted=lambda: spending.exhausted,
    )
    session.soul.compactor.unattended = True  # nobody is asked about a compaction in a loop (D26)
    try:
        async with spending:
            ending = await runner.run("again" if loop.completed else "")
    except TimeoutError:
        ending = Ending("finished")
        _leave(session, loop, f"its budget is used up ({spending.exhausted or 'time'})")
    except BaseException as error:
        if not session.closing:  # a daemon that stops leaves the loop running, to be taken up by the next one
            loop.status = "stopped"
            loop.reason = "cancelled" if isinstance(error, asyncio.CancelledError) else "it failed"
        session.loops.save(loop)
        raise
    finally:
        session.soul.compactor.unattended = False
    if loop.status == "running":
        _leave(session, loop, ending.error.message if ending.error else ending.stop_reason.replace("_", " "))
    session.loops.save(loop)
    session.log.publish(_notice(loop))
    return ending


async def _go_back(session: "Session", checkpoint: int) -> str:
    """Files and context as they were; a context that was condensed since stays as it is."""
    reached = session.log.context.reaches(checkpoint)
    rewind = session.rewinder.go_back if reached else session.rewinder.restore
    done = await rewind(checkpoint, session.current_turn)
    conflicts = ", ".join(file.path for file in done.files if file.action == "conflict")
    kept = f", but for {conflicts}, which somebody else has changed since" if conflicts else ""
    return f"The files you changed in it are as they were before{kept}."


def _leave(session: "Session", loop: LoopState, reason: str) -> None:
    loop.status, loop.reason = "paused", reason
    session.loops.save(loop)


async def _off(session: "Session") -> str:
    await session.repeat_prompts(0)
    loop = session.loops.load(session.id)
    if loop is None or loop.status == "finished":
        return "Prompts of this session do not loop."
    loop.status, loop.reason = "stopped", "you ended it"
    session.loops.save(loop)
    return f"The loop is stopped after {_count(loop.completed)}; `/loop resume` takes it up again."


def _describe(loop: LoopState | None) -> str:
    if loop is None:
        return f"There is no loop in this session. {USAGE}"
    of = f" of {loop.runs}" if loop.runs is not None else ""
    reason = f": {loop.reason}" if loop.reason else ""
    money = f", {loop.spent.cost:.2f} in money" if loop.spent.cost is not None else ""
    return (
        f"The loop is {loop.status}{reason}. {_count(loop.completed)}{of}, {loop.spent.tokens} tokens{money}, "
        f"{loop.spent.seconds:.0f} s.\n\n> {loop.prompt}"
    )


def _notice(loop: LoopState) -> Notification:
    body = f"After {_count(loop.completed)}: {loop.reason}."
    if loop.status == "paused":
        body += " `/loop resume` takes it up again."
    return Notification(
        id=secrets.token_hex(6), type="loop", title=f"The loop is {loop.status}", body=body, created_at=time.time()
    )


def _count(completed: int) -> str:
    return f"{completed} iteration{'' if completed == 1 else 's'}"


def _times(limit: int | None) -> str:
    return "without limit" if limit is None or limit < 0 else f"up to {limit} times more"


def loop_option(limit: int) -> SessionOption:
    """How often prompts of the session are repeated, as clients show it."""
    offered = list(_OFFERED) if limit in _OFFERED else sorted({*_OFFERED, limit}, key=lambda n: (n < 0, n))
    choices = tuple(Choice(loop_value(n), _named(n)) for n in offered)
    description = "Repeat each prompt until the agent finds it complete."
    return SessionOption("loop", "Loop", "_loop", description, loop_value(limit), choices)


def loop_value(limit: int) -> str:
    """A limit as the value of the option."""
    return {0: "off", -1: "unlimited"}.get(limit, str(limit))


def loop_limit(value: str) -> int:
    """The limit that a value of the option stands for."""
    return -1 if value == "unlimited" else 0 if value == "off" else int(value)


def _named(limit: int) -> str:
    return "Off" if limit == 0 else "Until it is complete" if limit < 0 else f"Up to {limit} times more"

"""`/loop`, and the prompts of a session that loops: beginning, stopping and taking up loops."""

from collections.abc import Iterator
from functools import partial

from sould.agents.commands.flows import run_flow
from sould.agents.commands.looprun import LoopRun
from sould.agents.commands.looptasks import loop_task
from sould.agents.commands.replies import say
from sould.agents.errors import OptionError
from sould.agents.flows.looprequest import USAGE, LoopRequest, parse_request
from sould.agents.flows.loopstate import Budget, LoopState
from sould.agents.flows.looptask import LoopTask
from sould.agents.sessions.session import Session
from sould.agents.sessions.slash import Entry, SlashCommand
from sould.agents.soul.loop import Ending
from sould.agents.turns.loopcontrols import count, describe_loop, describe_loops
from sould.agents.wire.content import UserInput, input_text
from sould.agents.wire.messages import ContextNote, Notification
from sould.agents.wire.notice import notice

DEFAULT_LIMIT = 10
"""Iterations after the first, where neither the user nor the configuration says."""


def loop_commands(session: Session) -> Iterator[Entry]:
    """The command."""
    hint = "[N] prompt, or pause, off, resume, list, help"
    yield SlashCommand("loop", "Repeat a task until it is complete", hint), partial(_loop, session)


async def prompt_turn(session: Session, user_input: UserInput) -> Ending:
    """A prompt that is no command: one turn of the agent, or a loop where the session or the configuration says so."""
    limit = session.repeats.limit
    text = input_text(user_input)
    if limit == 0 or not text.strip():
        return await session.soul.turn(session.current_turn)
    return await _begin(session, LoopRequest("start", limit, text), told=True)


async def _loop(session: Session, argument: str) -> Ending:
    request = parse_request(argument)
    match request.action:
        case "status":
            return say(session, describe_loop(session.loops.load(session.id)))
        case "list":
            return say(session, describe_loops(session.loops, ()))
        case "help":
            return say(session, USAGE)
        case "off":
            return say(session, await _off(session))
        case "pause":
            return say(session, _pause(session))
        case "resume":
            return await _resume(session, request)
        case "start":
            return await _start(session, request)


async def _start(session: Session, request: LoopRequest) -> Ending:
    if not request.prompt:
        limit = DEFAULT_LIMIT if request.limit is None else request.limit
        await session.repeats.set(limit)
        return say(session, f"From now on prompts of this session loop ({_times(limit)}); `/loop off` ends that.")
    if request.limit == 0:
        task = loop_task(session, request.prompt)
        if task.flow is not None:
            return await run_flow(session, task.flow)
        session.log.publish(ContextNote(text=task.text))
        return await session.soul.turn(session.current_turn)
    return await _begin(session, request, told=False)


async def _begin(session: Session, request: LoopRequest, *, told: bool) -> Ending:
    limit = request.limit
    if limit is None:
        limit = session.repeats.limit or DEFAULT_LIMIT
    task = loop_task(session, request.prompt) if not told else LoopTask(request.prompt, session.config.flows)
    budget = _budget(session, request.budget)
    loop = LoopState(
        session_id=session.id,
        cwd=session.info.cwd,
        prompt=request.prompt,
        limit=limit,
        budget=budget,
        allowance=budget,
    )
    return await LoopRun(session, loop, task, told=told).run()


def _budget(session: Session, asked: Budget) -> Budget:
    control = session.config.loop_control
    _require_price(session, asked)
    if control.ralph_max_cost is not None and not _is_priced(session):
        session.log.publish(_unpriced(session))
    return Budget(
        tokens=asked.tokens or control.ralph_max_tokens,
        cost=asked.cost or control.ralph_max_cost,
        seconds=asked.seconds or control.ralph_max_time_s,
    )


def _require_price(session: Session, asked: Budget) -> None:
    """A budget that could never be reached is none."""
    if asked.cost is not None and not _is_priced(session):
        key = session.models.info.key
        raise OptionError(
            f"The price of the model {key} is not known, so a budget in money cannot be kept: set `input_price` and "
            f"`output_price` in [models.{key}], or give --tokens instead."
        )


def _is_priced(session: Session) -> bool:
    return session.models.info.input_price is not None and session.models.info.output_price is not None


def _unpriced(session: Session) -> Notification:
    body = (
        f"`ralph_max_cost` does not hold for this loop: the price of the model {session.models.info.key} is not known."
    )
    return notice("loop", "A budget in money cannot be kept", body, severity="warning")


async def _resume(session: Session, request: LoopRequest) -> Ending:
    loop = session.loops.load(request.session_id or session.id)
    if loop is None:
        raise OptionError(f"There is no loop to resume. {USAGE}")
    if loop.session_id != session.id:
        loop = _taken_over(session, loop)
    elif loop.status == "finished":
        raise OptionError(f"The loop is finished: {loop.reason.removesuffix('.')}. Start another with `/loop PROMPT`.")
    _require_price(session, request.budget)
    loop.grant(request.budget)
    loop.raise_allowance(request.budget)
    try:
        task = loop_task(session, loop.prompt)
    except OptionError as error:
        loop.settle("paused", error.message)
        session.loops.save(loop)
        raise
    loop.resume()
    return await LoopRun(session, loop, task, told=False).run()


def _taken_over(session: Session, loop: LoopState) -> LoopState:
    """Another session's loop as this session's; its checkpoints mean nothing here."""
    live = session.loops.load(session.id)
    if live is not None and live.status != "finished":
        raise OptionError("This session has a loop of its own; end it with `/loop off` first.")
    if loop.cwd != session.info.cwd:
        raise OptionError(f"That loop belongs to {loop.cwd}; resume it there.")
    session.loops.delete(loop.session_id)
    return loop.model_copy(update={"session_id": session.id, "checkpoints": []})


async def _off(session: Session) -> str:
    await session.repeats.set(0)
    loop = session.loops.load(session.id)
    if loop is None or loop.status == "finished":
        return "Prompts of this session do not loop."
    loop.settle("stopped", "cancelled")
    session.loops.save(loop)
    return f"The loop is stopped after {count(loop.completed)}; `/loop resume` takes it up again."


def _pause(session: Session) -> str:
    """Also one that was running until this came: the turn was ended for it."""
    loop = session.loops.load(session.id)
    if loop is None or loop.status == "finished":
        return "There is no loop in this session that could be paused."
    loop.settle("paused", "you paused it")
    session.loops.save(loop)
    return f"The loop is paused after {count(loop.completed)}; `/loop resume` takes it up again."


def _times(limit: int) -> str:
    return "without limit" if limit < 0 else f"up to {limit} more time{'' if limit == 1 else 's'}"

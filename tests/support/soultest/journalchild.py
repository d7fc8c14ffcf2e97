"""A process that writes a session's journal and can be killed at any moment.

`python -m soultest.journalchild DIRECTORY MODE` with MODE
  turns    publish turns for ever; a line "N" on standard output acknowledges turn N (committed)
  stream   begin a turn, stream 10,000 characters, save them, say "streamed", wait for ever
  hold     open the session, say "open", wait for ever
  limit    fill the journal up to a file size limit, lift it, say what happened
"""

import asyncio
import resource
import sys
from pathlib import Path

from sould.agents.base.errors import JournalFullError
from sould.agents.journal.journal import JournalWriter, read_records
from sould.agents.journal.log import SessionLog
from sould.agents.wire.content import FunctionCall, TextPart
from sould.agents.wire.messages import StepBegin, ToolCall, ToolResult, ToolReturn, TurnBegin, TurnEnd
from soultest.streams import until


def say(text: str) -> None:
    """One line to the parent, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def main(directory: Path, mode: str) -> None:
    """Run one mode."""
    writer = JournalWriter(retry_interval=0.02, sync_delay=0.01)
    if (directory / "wire.jsonl").exists():
        log = await SessionLog.open(directory, writer)
    else:
        log = await SessionLog.create(directory, writer, session_id=directory.name, cwd=Path("/w"))
    await {"turns": turns, "stream": stream, "hold": hold, "limit": limit}[mode](log, directory)


async def turns(log: SessionLog, directory: Path) -> None:
    """Acknowledge every turn that is committed."""
    number = sum(1 for record in read_records(directory / "wire.jsonl") if record.type == "TurnEnd")
    while True:
        log.publish(TurnBegin(user_input=f"turn {number}", turn_id=str(number)))
        log.publish(StepBegin(n=1))
        for word in range(20):
            log.publish(TextPart(text=f"{number}.{word} "))
        log.publish(ToolCall(id=f"call-{number}", function=FunctionCall(name="Shell", arguments="{}")))
        await log.commit()
        log.publish(
            ToolResult(tool_call_id=f"call-{number}", return_value=ToolReturn(is_error=False, output="x" * 300))
        )
        log.publish(TurnEnd(turn_id=str(number)))
        await log.commit()
        say(str(number))
        number += 1


async def stream(log: SessionLog, directory: Path) -> None:
    """Be killed in the middle of a message."""
    del directory
    log.publish(TurnBegin(user_input="go", turn_id="t"))
    log.publish(StepBegin(n=1))
    for _ in range(1000):
        log.publish(TextPart(text="0123456789"))
    await log.commit()
    say("streamed")
    await asyncio.Event().wait()


async def hold(log: SessionLog, directory: Path) -> None:
    """Keep the lock."""
    del log, directory
    say("open")
    await asyncio.Event().wait()


async def limit(log: SessionLog, directory: Path) -> None:
    """Meet a limit, be read-only, come back."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    published = 0
    try:
        while True:
            log.publish(TurnBegin(user_input="x" * 700, turn_id=str(published)))
            published += 1
            await log.commit()
    except JournalFullError as error:
        say(error.message)
    # it is being tried again all the while: what does not fit is there for a moment, and taken away
    await until(lambda: (directory / "wire.jsonl").read_bytes().endswith(b"}\n"))
    say("whole")
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await until(lambda: log.error is None)
    await log.commit()
    kept = [record.payload["turn_id"] for record in read_records(directory / "wire.jsonl")]
    say("all kept" if kept == [str(number) for number in range(published)] else f"lost some: {kept}")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

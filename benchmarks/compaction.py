"""The contest of the compaction strategies: which keeps most of what was said, for the tokens it takes (D27).

A proxy, not a measure of real work: twenty generated sessions hold facts planted early, in the middle and late; every
strategy runs as it does in the product, with one fixed extractive summariser in the model's place. What counts is how
many facts a reader of the compacted context could still find. Deterministic: fixed seeds, no network, no clock.

    .venv/bin/python benchmarks/compaction.py          the table
    .venv/bin/python benchmarks/compaction.py --write  also into docs/compaction-contest.md
"""

import argparse
import asyncio
import random
import re
from dataclasses import dataclass, field
from pathlib import Path

from sould.agents.base.text import tokens
from sould.agents.journal.context import Context
from sould.agents.llm.provider import ChatRequest
from sould.agents.soul.compaction.strategies import Room, StrategyName, by_words, cosine, strategy_named, tf_idf
from sould.agents.soul.compaction.summariser import Summariser
from sould.agents.soul.compaction.summary import SECTIONS
from sould.agents.soul.compaction.transcript import language, last_request, message_tokens
from sould.agents.wire.content import FunctionCall, TextPart, input_text
from sould.agents.wire.messages import (
    CompactionEnd,
    StepBegin,
    ToolCall,
    ToolResult,
    ToolReturn,
    TurnBegin,
    TurnEnd,
    WireMessage,
)

REPORT = Path(__file__).parent.parent / "docs" / "compaction-contest.md"
SESSIONS = 20
ROUNDS = 2
"""Each session is compacted, goes on for as long again, and is compacted once more."""
ROOM = Room(keep=2, tail=2000, excerpts=1000, summary=2000)
STRATEGIES: tuple[StrategyName, ...] = ("simple", "smart", "hierarchical")
KINDS = ("error", "decision", "open", "file", "command")
_NOUNS = [
    "parser",
    "scheduler",
    "cache",
    "router",
    "ledger",
    "queue",
    "index",
    "session",
    "token",
    "worker",
    "socket",
    "planner",
]
_VERBS = ["refactor", "test", "document", "profile", "rename", "split", "merge", "guard", "trace", "retry"]
_NOISE = [
    "compiling",
    "module",
    "checking",
    "imports",
    "resolving",
    "symbols",
    "formatting",
    "output",
    "scanning",
    "directory",
    "reading",
    "buffer",
]


@dataclass(slots=True)
class Fact:
    """Something to be remembered: `mark` occurs nowhere else."""

    kind: str
    mark: str
    place: str


@dataclass(slots=True)
class Talk:
    """A generated session: its messages by round, as they stand in a journal, and the facts in them."""

    rounds: list[list[WireMessage]] = field(default_factory=list[list[WireMessage]])
    facts: list[Fact] = field(default_factory=list[Fact])


@dataclass(slots=True)
class Score:
    """Sums over all sessions."""

    kept: dict[str, int] = field(default_factory=dict[str, int])
    size: int = 0
    questions: int = 0


def generate(seed: int) -> Talk:
    """One session: turns of a task with noisy tool output, and a fact of each kind early, in the middle and late."""
    chance = random.Random(seed)
    talk = Talk()
    for number in range(ROUNDS):
        topic = chance.sample(_NOUNS, 3)
        messages: list[WireMessage] = []
        turns = 24
        planted = {
            turn: (place, kind)
            for place, low in (("early", 0), ("middle", 8), ("late", 16))
            for turn, kind in zip(chance.sample(range(low, low + 8), len(KINDS)), KINDS, strict=True)
        }
        for turn in range(turns):
            noun, verb = topic[turn * len(topic) // turns], chance.choice(_VERBS)
            place, kind = planted.get(turn, ("", ""))
            mark = f"{kind}{chance.randrange(16**6):06x}" if kind else ""
            if kind:
                talk.facts.append(Fact(kind, mark, f"{place}, round {number + 1}"))
            messages += _turn(chance, f"{number}.{turn}", noun, verb, kind, mark)
        talk.rounds.append(messages)
    return talk


def _turn(chance: random.Random, name: str, noun: str, verb: str, kind: str, mark: str) -> list[WireMessage]:
    call = ToolCall(id=name, function=FunctionCall(name="Shell", arguments=f'{{"command":"make {noun}"}}'))
    noise = "\n".join(" ".join(chance.choices(_NOISE, k=9)) + "." for _ in range(chance.randrange(4, 60)))
    said = {
        "error": (
            "",
            f"{noise}\nValueError: {noun} rejected {mark} in line 7.",
            f"Fixed the error: pass {mark} as text.",
        ),
        "decision": (f"We decided that the {noun} must use {mark} because the old way raced.", noise, "Understood."),
        "open": ("", noise, f"TODO: the {noun} still needs {mark}."),
        "file": ("", f"{noise}\nwrote src/{noun}/{mark}.py", f"The {noun} now lives in src/{noun}/{mark}.py."),
        "command": (f"Run the {noun} with --{mark}.", noise, "It ran."),
    }.get(kind, ("", noise, "That went well."))
    return [
        TurnBegin(user_input=f"Please {verb} the {noun}. {said[0]}".strip()),
        StepBegin(n=1),
        TextPart(text=f"I will {verb} the {noun}."),
        call,
        ToolResult(tool_call_id=name, return_value=ToolReturn(is_error=False, output=said[1])),
        StepBegin(n=2),
        TextPart(text=said[2]),
        TurnEnd(),
    ]


class Extractor:
    """The fixed summariser: the sentences nearest to what the whole conversation is about, in the room it is given."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.questions = 0

    async def __call__(self, request: ChatRequest) -> str:
        self.questions += 1
        asked = input_text(request.messages[0].content)
        before = re.search(r"<summary_so_far>\n(.*?)\n</summary_so_far>", asked, re.DOTALL)
        talk = asked.rsplit("<conversation>\n", 1)[1].removesuffix("\n</conversation>")
        lines = [line for line in re.split(r"\n|(?<=\.) ", talk) if line.strip() and not line.startswith("#")]
        earlier = [line for line in (before[1] if before else "").splitlines() if not line.startswith("<")]
        lines = list(dict.fromkeys([*earlier, *lines]))
        vectors = tf_idf([" ".join(lines), *lines])
        ranked = sorted(range(len(lines)), key=lambda at: (-cosine(vectors[0], vectors[at + 1]), at))
        chosen: list[int] = []
        spent = 0
        for at in ranked:
            spent += tokens(lines[at])
            if spent > self.room:
                break
            chosen.append(at)
        body = "\n".join(lines[at] for at in sorted(chosen))
        said = {"important_context": body, "current_focus": lines[-1] if lines else ""}
        return "".join(f"<{name}>{said.get(name, 'None.')}</{name}>" for name in SECTIONS)


async def play(name: StrategyName, talk: Talk) -> tuple[str, int, int]:
    """Compact after every round; what is left, its tokens, and how many questions it took."""
    context = Context()
    questions = 0
    for added in talk.rounds:
        for message in added:
            context.apply(message)
        messages = context.messages
        plan = await strategy_named(name, by_words).plan(messages, ROOM)
        assert plan is not None
        # what is kept word for word costs room in the summary: every strategy ends at about the same size
        limit = ROOM.summary + ROOM.excerpts - message_tokens([messages[at] for at in plan.also_kept])
        ask = Extractor(limit // max(1, len(plan.parts)))
        summariser = Summariser(ask, language(messages), 20_000, limit, last_request(messages))
        summary = await summariser.summarise(plan)
        context.apply(CompactionEnd(summary=summary.text, kept=plan.kept, also_kept=plan.also_kept))
        questions += ask.questions
    text = "\n".join(input_text(message.content) for message in context.messages)
    return text, message_tokens(context.messages), questions


async def contest() -> dict[StrategyName, Score]:
    """All strategies over all sessions."""
    scores: dict[StrategyName, Score] = {}
    for name in STRATEGIES:
        score = scores[name] = Score()
        for seed in range(SESSIONS):
            talk = generate(seed)
            text, size, questions = await play(name, talk)
            score.size += size
            score.questions += questions
            for fact in talk.facts:
                for key in ("all", fact.kind, fact.place):
                    score.kept[key] = score.kept.get(key, 0) + (fact.mark in text)
    return scores


def report(scores: dict[StrategyName, Score]) -> str:
    """The tables, in Markdown."""
    each = SESSIONS * ROUNDS
    columns = ("all", *KINDS)
    lines = ["| strategy | " + " | ".join(columns) + " | tokens left | questions |", "|---" * (len(columns) + 3) + "|"]
    for name, score in scores.items():
        totals = {"all": each * len(KINDS) * 3} | dict.fromkeys(KINDS, each * 3)
        rates = (f"{100 * score.kept[key] / totals[key]:.0f} %" for key in columns)
        left = f"{score.size // SESSIONS} | {score.questions / SESSIONS:.1f}"
        lines.append(f"| {name} | {' | '.join(rates)} | {left} |")
    places = [f"{place}, round {number + 1}" for number in range(ROUNDS) for place in ("early", "middle", "late")]
    lines += ["", "| strategy | " + " | ".join(places) + " |", "|---" * (len(places) + 1) + "|"]
    for name, score in scores.items():
        rates = (f"{100 * score.kept[place] / (SESSIONS * len(KINDS)):.0f} %" for place in places)
        lines.append(f"| {name} | {' | '.join(rates)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables; with `--write`, into the committed report too."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the tables into docs/compaction-contest.md")
    tables = report(asyncio.run(contest()))
    if parser.parse_args().write:
        head = REPORT.read_text(encoding="utf-8").split("<!-- tables -->")[0]
        REPORT.write_text(f"{head}<!-- tables -->\n\n{tables}\n", encoding="utf-8")
    print(tables)


if __name__ == "__main__":
    main()

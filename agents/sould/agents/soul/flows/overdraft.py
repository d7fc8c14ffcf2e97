"""The question with which a loop stops that has used up its budget (D38): so much again, another amount, or no more.

It waits for a person without limit; no answer is never taken for a yes.
"""

import secrets

from sould.agents.base.errors import SouldError
from sould.agents.journal.channel import Channel
from sould.agents.permissions.questions import Questions
from sould.agents.soul.flows.looprequest import OPTIONS, amount
from sould.agents.soul.flows.loopstate import Budget, LoopState, Resource
from sould.agents.wire.messages import QuestionItem, QuestionOption

CONTINUE, STOP = "Continue", "Stop"
TRIES = 3
"""How often words may be given that are no amount; a client that can take none sends the same ones for ever."""
_WRITTEN: dict[Resource, str] = {
    "tokens": "{} more tokens",
    "cost": "{:.2f} more in money",
    "seconds": "{:g} more seconds",
}
_EXAMPLES: dict[Resource, str] = {"tokens": "200k", "cost": "2.50", "seconds": "30m"}


async def ask_for_more(channel: Channel, loop: LoopState) -> Budget | None:
    """What the user grants from here on; None when the loop shall stop."""
    item = asked = _question(loop)
    tries = 0
    while True:
        answers = await Questions(channel).ask(f"loop-{secrets.token_hex(4)}", (item,))
        answer = answers.get(item.question, "").strip()
        if answer in ("", STOP):
            return None
        if answer == CONTINUE:
            return _again(loop)
        try:
            return _given(loop, answer)
        except SouldError:
            tries += 1
            item = _again_asked(asked, answer) if tries < TRIES else _without_words(asked, loop)


def _question(loop: LoopState) -> QuestionItem:
    used_up = loop.used_up
    again = _again(loop).model_dump()
    offer = " and ".join(_WRITTEN[name].format(again[name]) for name in used_up)
    done = f"{loop.completed} iteration{'' if loop.completed == 1 else 's'}"
    return QuestionItem(
        question=f"The loop has used up its budget: {loop.overspent}. Continue?",
        header="Loop",
        body=f"{done} done of: {' '.join(loop.prompt.split())[:300]}",
        options=(
            QuestionOption(label=CONTINUE, description=f"Allow as much again: {offer}."),
            QuestionOption(label=STOP, description="Keep what is done; `/loop resume` resumes it."),
        ),
        other_label=f"Or allow another amount, such as {' '.join(_EXAMPLES[name] for name in used_up)}",
    )


def _again_asked(item: QuestionItem, answer: str) -> QuestionItem:
    return item.model_copy(update={"body": f"{item.body}\n\n{answer[:100]!r} is not an amount."})


def _without_words(item: QuestionItem, loop: LoopState) -> QuestionItem:
    """The same for somebody whose own words are no amount, or whose client cannot take any."""
    options = " ".join(f"{OPTIONS[name]} {_EXAMPLES[name]}" for name in loop.used_up)
    hint = f"Another amount can be given later: stop now, then `/loop resume {options}`."
    return item.model_copy(update={"other_label": "", "body": f"{item.body}\n\n{hint}"})


def _again(loop: LoopState) -> Budget:
    """The first allowance of everything that is used up; what had none at first gets as much as it has had."""
    first, now = loop.allowance.model_dump(), loop.budget.model_dump()
    return Budget.model_validate({name: first[name] or now[name] for name in loop.used_up})


def _given(loop: LoopState, answer: str) -> Budget:
    words = answer.split()
    if len(words) != len(loop.used_up):
        raise SouldError("one amount for each budget")
    return Budget.model_validate({name: amount(name, word) for name, word in zip(loop.used_up, words, strict=True)})

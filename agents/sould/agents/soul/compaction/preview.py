"""Showing a summary to a person before it takes the conversation's place (D26): confirm, edit, or have it made anew.

A `QuestionRequest`, so every client can answer it and the first answer wins. No answer changes nothing.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.journal.log import SessionLog
from sould.agents.permissions.questions import Questions
from sould.agents.wire.messages import QuestionItem, QuestionOption

QUESTION = "Replace the conversation so far by this summary?"
EDIT = "Your version of the summary"
GUIDE = "What should the new summary focus on?"
NO_TEXT = "No text came back, so nothing was changed.\n\n"
GROWS = "This summary is longer than what it replaces: there is little to compact yet. "
CONFIRM, EDIT_IT, REGENERATE = "Confirm", "Edit", "Regenerate"


class Draft(Struct, frozen=True):
    """A summary that is not in force yet, with what is kept beside it and the tokens before and after."""

    text: str
    note: str
    before: int
    after: int
    grows: bool
    """The summary takes no less room than what it stands for."""


Regenerate = Callable[[str], Awaitable[Draft]]


class Preview(Struct, frozen=True):
    """Asks about drafts of one compaction."""

    log: SessionLog
    compaction_id: str

    async def settle(self, draft: Draft, regenerate: Regenerate) -> Draft | None:
        """The draft the user wants, None when they want none.

        Raises:
            ProviderError: a new draft could not be made.
        """
        hint = ""
        while True:
            answer = await self._ask(_question(draft, hint))
            hint = ""
            if answer == CONFIRM:
                return draft
            if answer == EDIT_IT:
                text = await self._ask(QuestionItem(question=EDIT, header="Summary", default=draft.text))
                if text:
                    return replace(draft, text=text, note=f"{draft.note} Edited by the user.")
                hint = NO_TEXT
            elif answer == REGENERATE:
                draft = await regenerate(await self._ask(QuestionItem(question=GUIDE, header="Guidance")))
            elif answer:  # words of the user's own, which Wire's clients may always send
                draft = await regenerate(answer)
            else:
                return None

    async def _ask(self, item: QuestionItem) -> str:
        """The answer, "" for none."""
        answers = await Questions(self.log.channel).ask(self.compaction_id, (item,))
        return answers.get(item.question, "").strip()


def _question(draft: Draft, hint: str) -> QuestionItem:
    warning = GROWS if draft.grows else ""
    return QuestionItem(
        question=QUESTION,
        header="Compaction",
        body=f"{hint}{draft.before} tokens become about {draft.after}. {warning}{draft.note}\n\n{draft.text}",
        options=(
            QuestionOption(label=CONFIRM, description="Use it; the full conversation stays readable."),
            QuestionOption(label=EDIT_IT, description="Edit its text first."),
            QuestionOption(label=REGENERATE, description="Have it rewritten, with a hint from you."),
        ),
    )

"""Plan mode from the model's side: EnterPlanMode to begin, ExitPlanMode to put the plan to the user.

That nothing is changed meanwhile is not asked of the model here; it is decided in `permissions.policy`.
"""

import os
from pathlib import Path
from typing import ClassVar, Final, Protocol

from msgspec import Struct
from pydantic import ConfigDict, Field, JsonValue, field_validator

from sould.agents.base.parsed import Parsed
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.questions import OWN_WORDS, Questions
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok, tool_rejected
from sould.agents.wire.messages import PlanDisplay, QuestionItem, QuestionOption, ToolKind, ToolReturn

APPROVE, REJECT, REJECT_AND_EXIT, REVISE = "Approve", "Reject", "Reject and Exit", "Revise"
_OWN_LABELS: Final = {label.lower() for label in (APPROVE, REJECT, REJECT_AND_EXIT, REVISE)}
QUESTION: Final = "Go ahead with this plan?"
PLAN_FILE: Final = "plan.md"


class PlanSwitch(Protocol):
    """Begins and ends planning, for everybody who looks at the session."""

    @property
    def planning(self) -> bool:
        """Whether nothing may be changed now."""
        ...

    @property
    def away(self) -> bool:
        """Nobody is there to approve a plan."""
        ...

    async def enter_plan(self) -> None:
        """From now on nothing is changed."""
        ...

    async def leave_plan(self) -> None:
        """Back to the mode before, if a plan is being made."""
        ...


class PlanMode(Struct, frozen=True):
    """The plan mode of one session; injectable."""

    switch: PlanSwitch
    log: SessionLog
    directory: Path
    """The session's own; the plan is kept there."""

    @property
    def active(self) -> bool:
        """Whether nothing may be changed now."""
        return self.switch.planning

    @property
    def plan(self) -> str:
        """The last plan that was shown; "" when there is none."""
        try:
            return (self.directory / PLAN_FILE).read_text(encoding="utf-8")
        except OSError:
            return ""

    def show(self, plan: str) -> None:
        """Keep the plan and show it to everybody."""
        path = self.directory / PLAN_FILE
        new = path.with_suffix(".new")
        with open(new, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(plan)
        new.replace(path)
        self.log.publish(PlanDisplay(content=plan, file_path=str(path)))

    def forget(self) -> None:
        """Throw the plan away."""
        (self.directory / PLAN_FILE).unlink(missing_ok=True)

    async def enter(self) -> None:
        """From now on nothing is changed."""
        if not self.active:
            await self.switch.enter_plan()

    async def leave(self) -> None:
        """Back to the mode before."""
        if self.active:
            await self.switch.leave_plan()


class NoParams(ToolParams):
    """None."""


class EnterPlanMode(Tool[NoParams]):
    """Stop changing things, look around, make a plan."""

    name = "EnterPlanMode"
    title = "Enter plan mode"
    kind: ClassVar[ToolKind] = "switch_mode"
    params = NoParams

    def __init__(self, plan_mode: PlanMode) -> None:
        self._plan_mode = plan_mode

    def view(self, params: NoParams) -> CallView:
        """What happens."""
        return CallView(title="Enter plan mode")

    async def run(self, params: NoParams, call: ToolCallContext) -> ToolReturn:
        """Switch."""
        if self._plan_mode.active:
            return tool_ok(message="Plan mode is on already.")
        if self._plan_mode.switch.away:
            return tool_error(
                "The user is away, so nobody could approve a plan. Plan for yourself, then go on without plan mode.",
                brief="Nobody is there to approve a plan",
            )
        await self._plan_mode.enter()
        return tool_ok(message="Plan mode is on: read and search, then show your plan with ExitPlanMode.")


class PlanOption(Parsed):
    """One way to go about it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str = Field(min_length=1, max_length=80, description="The approach in one to eight words.")
    description: str = Field(default="", description="What it means and costs.")


class PlanParams(ToolParams):
    """The plan."""

    plan: str = Field(min_length=1, description="The plan in Markdown: what will be changed where, in order, and why.")
    options: list[PlanOption] = Field(
        default_factory=list[PlanOption],
        max_length=3,
        description="Different approaches the user should choose from, the recommended one first; empty if there is one.",
    )

    @field_validator("options")
    @classmethod
    def _distinct(cls, options: list[PlanOption]) -> list[PlanOption]:
        labels = [option.label.lower() for option in options]
        if len(set(labels)) != len(labels) or _OWN_LABELS & set(labels):
            raise ValueError(f"labels must differ from each other and from {APPROVE}, {REJECT} and {REVISE}")
        return options


class ExitPlanMode(Tool[PlanParams]):
    """Show the plan and let the user decide."""

    name = "ExitPlanMode"
    title = "Review the plan"
    kind: ClassVar[ToolKind] = "switch_mode"
    example: ClassVar[dict[str, JsonValue]] = {"plan": "1. Add a failing test for empty input.\n2. Fix `parse`."}
    params = PlanParams

    def __init__(self, plan_mode: PlanMode, questions: Questions) -> None:
        self._plan_mode = plan_mode
        self._questions = questions

    def view(self, params: PlanParams) -> CallView:
        """What happens."""
        return CallView(title="Review the plan")

    async def run(self, params: PlanParams, call: ToolCallContext) -> ToolReturn:
        """Ask; plan mode ends only by the user's word."""
        if not self._plan_mode.active:
            return tool_error("Plan mode is not on, so there is nothing to leave.", brief="Not in plan mode")
        if not self._questions.left_waiting(call.id):
            self._plan_mode.show(params.plan)
        answers = await self._questions.ask(call.id, (_review(params),))
        return await self._settle(answers.get(QUESTION, "").strip(), params)

    async def _settle(self, answer: str, params: PlanParams) -> ToolReturn:
        if answer == APPROVE or answer in {option.label for option in params.options}:
            await self._plan_mode.leave()
            chosen = "" if answer == APPROVE else f" They chose: {answer}."
            return tool_ok(message=f"The user approved the plan.{chosen} Plan mode is over; carry it out now.")
        if answer == REJECT_AND_EXIT:
            await self._plan_mode.leave()
            return tool_rejected()
        if answer in ("", REJECT):
            return tool_rejected()
        if answer in (REVISE, OWN_WORDS):
            answer = "The plan needs changes. Ask what they should be."
        return tool_rejected(f"{answer}\nPlan mode stays on; revise the plan and show it again with ExitPlanMode.")


def _review(params: PlanParams) -> QuestionItem:
    approaches = [QuestionOption(label=option.label, description=option.description) for option in params.options]
    return QuestionItem(
        question=QUESTION,
        header="Plan",
        body=params.plan,
        options=(
            *(approaches or [QuestionOption(label=APPROVE, description="Leave plan mode and carry the plan out.")]),
            QuestionOption(label=REVISE, description="Stay in plan mode and change the plan."),
            QuestionOption(label=REJECT, description="Stop here; plan mode stays on."),
            QuestionOption(label=REJECT_AND_EXIT, description="Stop here and leave plan mode."),
        ),
        other_label="Or say what to change",
    )

"""What calls brought back, shown to the user before the model sees it, where their rules want that (`output = "ask"`).

What a web page or a server answers can hold instructions for the model. A rule of the user's holds in every mode; nobody to
ask, or rules that cannot be read, mean that nothing is passed on. This module runs nothing, and logs no output.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Final

from sould.agents.base.clock import waiting_for_the_user
from sould.agents.permissions.asking import Ask, RulesSource, request_of
from sould.agents.permissions.rules import RulesError
from sould.agents.permissions.scopes import output_button, output_named, output_scope
from sould.agents.permissions.visible import has_hidden_characters, shortened, visible, visible_ends
from sould.agents.toolapi.base import ToolCallContext, tool_error
from sould.agents.wire.content import ImagePart, TextPart, media_url
from sould.agents.wire.display import BriefBlock
from sould.agents.wire.messages import ApprovalRequest, HeldOutput, OutputSource, ToolReturn

ACTION: Final = "pass on output"
"""Wire's name for what is asked."""
CANCELLED: Final = "the turn was cancelled before they had looked at it"
_HIDDEN: Final = (
    "It contains characters that cannot be seen or change the direction of reading; they are shown as marks."
)


class OutputReview:
    """Of one session, shared by its subagents: decides which outputs are asked about, asks, and remembers for the session."""

    def __init__(self, ask: Ask, rules: RulesSource) -> None:
        self._ask = ask
        self._rules = rules
        self._passed: frozenset[OutputSource] = frozenset()
        """Those that the user passes on unseen in this session."""

    def forget(self, tool: str) -> None:
        """Ask again about a tool that is not what it was."""
        self._passed = frozenset(source for source in self._passed if source.tool != tool)

    async def review(self, call: ToolCallContext, sender: str, held: HeldOutput) -> ToolReturn:
        """The result that the model may have: what came back, or that the user withheld it. Waits without limit (D16)."""
        if not _is_foreign(held):
            return held.result
        asked, problem = self._asked(held.sources)
        if not asked and not problem:
            return held.result
        request = _question(call, sender, held, asked, problem)
        with waiting_for_the_user():
            async with call.asking():
                answer = await self._ask(request)
        if answer.response == "reject":
            return withheld(answer.feedback)
        if answer.response == "approve_for_session" and request.scope:
            self._passed |= frozenset(asked)
        if answer.feedback:
            call.allowed_with(answer.feedback)
        return held.result

    def _asked(self, sources: Sequence[OutputSource]) -> tuple[tuple[OutputSource, ...], str]:
        """Those of which a rule wants the output shown; and why nobody can tell which these are."""
        if not sources:
            return (), ""
        try:
            rules = self._rules()
        except RulesError as error:
            return (), f"Asked because your rules cannot be used: {error.message}"
        wanted = (source for source in sources if source not in self._passed)
        return tuple(source for source in wanted if rules.review_output(source.tool, source.host)), ""


def withheld(why: str) -> ToolReturn:
    """What the model is told in place of the output."""
    said = why.strip().rstrip(".")
    reason = f" They said: {said}." if said else ""
    return tool_error(
        f"This ran, but the user looked at its output first and withheld it from you.{reason} Do not try to get the same "
        "output by other means; go on without it, or ask the user.",
        brief=f"Output withheld: {said}" if said else "Output withheld",
    )


def unseen(why: str) -> ToolReturn:
    """What the model is told when nobody had looked at the output."""
    return tool_error(f"This ran, but its output was withheld: {why}.", brief="Output withheld")


def output_text(result: ToolReturn) -> str:
    """All that the model would be told, as it may safely be shown: nothing in it is hidden, media are named."""
    parts = (result.output,) if isinstance(result.output, str) else map(_worded, result.output)
    return visible_ends("\n".join(filter(None, (*parts, result.message))))


def output_images(result: ToolReturn) -> Iterable[ImagePart]:
    """The pictures in it."""
    return () if isinstance(result.output, str) else (part for part in result.output if isinstance(part, ImagePart))


def _worded(part: object) -> str:
    if isinstance(part, TextPart):
        return part.text
    url = media_url(part) or ""  # pyright: ignore[reportArgumentType] -- narrowed below
    return f"[{url[:40].partition(';')[0].removeprefix('data:')}, {len(url) * 3 // 4:,} bytes]"


def _is_foreign(held: HeldOutput) -> bool:
    """Whether something of it was written elsewhere: what a server says is in the error, too, what a page says is not."""
    result = held.result
    if result.extras and result.extras.get("rejected"):
        return False
    return bool(result.output) or (result.is_error and any(source.tool != "fetch" for source in held.sources))


def _question(
    call: ToolCallContext, sender: str, held: HeldOutput, asked: Sequence[OutputSource], problem: str
) -> ApprovalRequest:
    text = output_text(held.result)
    raw = held.result.output if isinstance(held.result.output, str) else text
    told = (
        f"`{sender}` has run. May the model see {output_named(held.sources)}?",
        problem,
        _HIDDEN if has_hidden_characters(raw) else "",
    )
    request = request_of(call, sender=sender, action=ACTION, description="\n".join(map(visible, filter(None, told))))
    update = {
        "display": (BriefBlock(text=shortened(text)),),
        "digest": _digest(held),
        "scope": output_scope(asked),
        "scope_button": output_button(asked),
        "held": held,
    }
    return request.model_copy(update=update)


def _digest(held: HeldOutput) -> str:
    """Of what the model would be told."""
    about = [
        held.result.model_dump(include={"is_error", "output", "message"}),
        [each.model_dump() for each in held.sources],
    ]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

"""The model's context as a fold of the message stream: live and rebuilt sessions run the same code.

Never reads a file and never asks a model. Whatever the stream, `messages` is well-formed for a provider: every tool
call has exactly one result, right after it; nothing empty is sent.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from sould.agents.base.text import MEDIA_TOKENS, weight
from sould.agents.journal.checkpoints import ContextCheckpoint, Undoable, newest, older, turns_in
from sould.agents.journal.entries import (
    Result,
    Run,
    Said,
    Step,
    content_weight,
    is_blank,
    message_weight,
    result_weight,
)
from sould.agents.llm.provider import ChatMessage
from sould.agents.wire.content import AudioPart, ImagePart, TextPart, ThinkPart, UserInput, VideoPart
from sould.agents.wire.messages import (
    Choice,
    CompactionEnd,
    ContextCleared,
    ContextNote,
    ContextReturned,
    ContextReverted,
    DirectoryAdded,
    GivenPrompt,
    MediaLeftOut,
    ServerState,
    StatusUpdate,
    SteerInput,
    StepBegin,
    SubagentCreated,
    SystemPrompt,
    ToolCall,
    ToolCallPart,
    ToolResult,
    TurnBegin,
    TurnEnd,
    WireMessage,
)
from sould.agents.wire.stream import piece

COMPACTED = (
    "The conversation so far was compacted. What follows in this message stands for it; any messages after this one were "
    "kept word for word."
)
MEASURABLE = 4 * 200
"""Quarter tokens that must have been added between two reports before our estimate is corrected by them."""


class Usage(Struct, frozen=True):
    """The tokens of everything before it, as the provider counted them."""

    token_count: int


Entry: TypeAlias = ChatMessage | ContextCheckpoint | Usage
_Kept: TypeAlias = Entry | Said | Step
Handler: TypeAlias = Callable[[Any], None]
"""Folds in a message of one kind."""


class Context:
    """What the model remembers."""

    def __init__(self) -> None:
        self.system_prompt = self.prompt_made_of = ""
        self.prompt_given: GivenPrompt | None = None
        self.checkpoint = -1
        """The newest checkpoint's id; ids count from 0 and are never reused (D28)."""
        self.token_count = 0
        """Tokens of the last model call, as the provider counted them."""
        self.generation = 0
        """Counts how often history was replaced: by compaction, clearing, reverting."""
        self.subagents: dict[str, SubagentCreated] = {}
        """Kinds of subagents made in this session, by name; going back does not unmake them (D32)."""
        self.directories: list[str] = []
        """Directories the user added to the workspace; going back does not take them away."""
        self._left_out = dict[str, frozenset[str]]()
        self.undone: list[str] = []
        """The reverts that can be taken back, as their restores' ids, newest last."""
        self._entries: list[_Kept] = []
        self._made, self._made_of = list[ChatMessage](), 0
        """The messages of so many first entries, which will not change."""
        self._archive: list[list[_Kept]] = []
        """What compaction and clearing replaced; only going back reaches it."""
        self._cleared: set[int] = set()
        """Which of it clearing replaced."""
        self._left: list[list[_Kept]] = []
        """What was left by going back, as long as it can be returned to."""
        self._step: Step | None = None
        self._step_at = 0
        self._call = ""
        self._muted = False
        """In a slash command's turn, before any step: what is said is for people."""
        self._owners: dict[str, Step] = {}
        self.compacted_size = -1
        """How many messages there were right after the last compaction, -1 when history was replaced since in another way."""
        self._pending = 0
        """Quarter tokens added since `token_count` was reported, estimated."""
        self._measured = False
        """`token_count` comes from the provider and history was not replaced since."""
        self._correction = 1.0
        """How many tokens the provider counts for one we estimate (D27)."""
        self._handlers = self._by_type()

    def _by_type(self) -> dict[type[WireMessage], Handler]:
        return {
            TextPart: self._add_text,
            ThinkPart: self._add_text,
            Choice: self._add_choice,
            ImagePart: self._add_media,
            AudioPart: self._add_media,
            VideoPart: self._add_media,
            ToolCall: self._add_call,
            ToolCallPart: self._extend_call,
            ToolResult: self._add_result,
            ServerState: self._keep_state,
            MediaLeftOut: self._leave_out,
            TurnBegin: self._begin_turn,
            TurnEnd: self._end_turn,
            SteerInput: self._steer,
            StepBegin: self._mark,
            StatusUpdate: self._count,
            SystemPrompt: self._set_system_prompt,
            SubagentCreated: self._add_subagent,
            DirectoryAdded: self._add_directory,
            ContextNote: self._note,
            CompactionEnd: self._compact,
            ContextCleared: self._clear,
            ContextReverted: self._revert,
            ContextReturned: self._return,
        }

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """The conversation for the next model call. What was said and done is the same objects each time."""
        while self._made_of < len(self._entries):
            entry = self._entries[self._made_of]
            messages = tuple(_messages((entry,)))
            if isinstance(entry, Step) and not entry.made:
                break
            self._made += messages
            self._made_of += 1
        return (*self._made, *_messages(self._entries[self._made_of :]))

    @property
    def pending_estimate(self) -> int:
        """Tokens added since `token_count` was reported: estimated, corrected by what the provider counted so far."""
        return int(self._pending * self._correction) // 4

    @property
    def settled(self) -> int:
        """How many entries will not change any more within this generation."""
        return self._step_at if self._step is not None else len(self._entries)

    @property
    def settled_lines(self) -> int:
        """How many entries `entries(0, settled)` gives."""
        entries = self._entries[: self.settled]
        return sum(entry.count() if isinstance(entry, Step) else 1 for entry in entries)

    def left_out(self, origin: str) -> frozenset[str]:
        """Digests of media that the server of a model refused; going back does not forget them."""
        return self._left_out.get(origin, frozenset())

    def entries(self, start: int, stop: int) -> Iterator[Entry]:
        """Entries by position, as messages, checkpoints and usage."""
        for entry in self._entries[start:stop]:
            if isinstance(entry, Said | Step):
                yield from entry.messages()
            else:
                yield entry

    def has_checkpoint(self, checkpoint_id: int) -> bool:
        """Whether a D-Mail can go there: it exists and lies after the last compaction."""
        return ContextCheckpoint(checkpoint_id) in self._entries

    def reaches(self, checkpoint_id: int) -> bool:
        """Whether `ContextReverted` can go there, also to before a compaction."""
        return self._holding(checkpoint_id) is not None

    @property
    def turns(self) -> tuple[int, ...]:
        """The checkpoints at which turns began, oldest first, those that were compacted or cleared since included."""
        found: list[int] = []
        newer: list[_Kept] = []
        for entries in (self._entries, *reversed(self._archive)):
            found[:0] = turns_in(older(entries, newer))
            newer = [*entries, *newer]  # older still is only what was before all of these
        return tuple(found)

    @property
    def undoable(self) -> Undoable | None:
        """The newest turn, or the clearing when nothing was asked since; None when there is nothing to undo."""
        turns = tuple(turns_in(self._entries))
        if turns:
            return Undoable(turns[-1])
        for position, replaced in reversed(tuple(enumerate(self._archive))):
            layer = older(replaced, self._entries)
            turns, clearing = tuple(turns_in(layer)), newest(replaced)
            if (
                position in self._cleared
                and clearing is not None
                and len(layer) == len(replaced)
                and any(_messages(layer))
            ):
                return Undoable(clearing, cleared=True)
            if turns:
                return Undoable(turns[-1])
        return None

    def apply(self, message: WireMessage) -> None:
        """Fold one message (or delta) in; what does not concern the model is passed over."""
        handler = self._handlers.get(type(message))
        if handler:
            handler(message)

    # --- what the model says ---

    def _add_text(self, part: TextPart | ThinkPart) -> None:
        if self._muted:
            return
        step = self._step if self._step is not None else self._open_step()
        text = piece(part)
        if isinstance(part, ThinkPart) and part.encrypted:
            step.content.append(part)
            self._pending += weight(part.encrypted)
        else:
            step.add(part, text)
        self._pending += weight(text)

    def _add_choice(self, choice: Choice) -> None:
        self._add_text(TextPart(text=choice.text))

    def _add_media(self, part: ImagePart | AudioPart | VideoPart) -> None:
        step = self._step if self._step is not None else self._open_step()
        step.content.append(part)
        self._pending += 4 * MEDIA_TOKENS

    def _add_call(self, call: ToolCall) -> None:
        step = self._step if self._step is not None else self._open_step()
        step.calls[call.id] = Run(call, [piece(call)])
        self._owners[call.id] = step
        self._call = call.id
        self._pending += weight(call.function.name) + weight(piece(call))

    def _extend_call(self, part: ToolCallPart) -> None:
        call_id = part.tool_call_id or self._call
        owner = self._owners.get(call_id)
        if owner is not None and not owner.closed:
            owner.calls[call_id].pieces.append(piece(part))
            self._pending += weight(piece(part))

    def _add_result(self, result: ToolResult) -> None:
        owner = self._owners.get(result.tool_call_id)
        if owner is not None and result.tool_call_id not in owner.results:
            told = owner.results[result.tool_call_id] = Result.of(result.return_value)
            self._pending += result_weight(told)

    def _keep_state(self, state: ServerState) -> None:
        if self._step is not None:
            self._step.keep(state)

    def _leave_out(self, refused: MediaLeftOut) -> None:
        self._left_out[refused.origin] = self.left_out(refused.origin).union(refused.digests)

    def _open_step(self) -> Step:
        step = self._step = Step()
        self._step_at = len(self._entries)
        self._entries.append(step)
        return step

    def _close_step(self) -> None:
        if self._step is not None:
            self._step.close()
            self._step = None

    # --- what others say ---

    def _begin_turn(self, turn: TurnBegin) -> None:
        self._mark(turn)
        self._muted = turn.command
        if not turn.command:
            self._add_user(turn.user_input)

    def _end_turn(self, _: TurnEnd) -> None:
        self._close_step()
        self._muted = False

    def _steer(self, steer: SteerInput) -> None:
        self._close_step()
        self._add_user(steer.user_input)

    def _note(self, note: ContextNote) -> None:
        self._add_user(f"<system>{note.text}</system>")

    def _add_user(self, content: UserInput) -> None:
        if not isinstance(content, str):
            content = tuple(part for part in content if not is_blank(part))
        if content and not (isinstance(content, str) and content.isspace()):
            self._entries.append(Said(content))
            self._pending += weight(content) if isinstance(content, str) else content_weight(content)

    def _mark(self, message: WireMessage) -> None:
        self._muted = False
        self._close_step()
        self.checkpoint += 1
        of_model = not (isinstance(message, TurnBegin) and message.command)
        if of_model:
            self.undone.clear()
            self._left.clear()
        kind = "step" if not isinstance(message, TurnBegin) else "command" if message.command else "turn"
        self._entries.append(ContextCheckpoint(self.checkpoint, kind))

    def _count(self, status: StatusUpdate) -> None:
        tokens = status.token_usage.total if status.token_usage else status.context_tokens
        if tokens is not None:
            self._correct(tokens if status.token_usage else None)
            self.token_count = tokens
            self._pending = 0
            self._entries.append(Usage(tokens))

    def _correct(self, reported: int | None) -> None:
        """Learn from two reports in a row how far our estimate of what came between them was off."""
        if reported is not None and self._measured and self._pending >= MEASURABLE:
            factor = min(2.0, max(0.5, (reported - self.token_count) * 4 / self._pending))
            self._correction = (self._correction + factor) / 2
        self._measured = reported is not None

    def _add_subagent(self, made: SubagentCreated) -> None:
        self.subagents[made.name] = made

    def _add_directory(self, added: DirectoryAdded) -> None:
        self.directories.append(added.path)

    def _set_system_prompt(self, prompt: SystemPrompt) -> None:
        self._pending += weight(prompt.text)
        self.system_prompt, self.prompt_made_of = prompt.text, prompt.made_of
        self.prompt_given = prompt.given
        self.generation += 1 if self._entries else 0

    # --- history replaced ---

    def _compact(self, end: CompactionEnd) -> None:
        if end.failed:
            return
        messages = self.messages
        tail = max(0, len(messages) - max(0, end.kept))
        kept = [*_with_results(messages, end.also_kept, tail), *messages[tail:]]
        summary = ChatMessage("user", (TextPart(text=f"<system>{COMPACTED}</system>"), TextPart(text=end.summary)))
        self._archive.append(self._entries)
        self._replace([summary, *_without_orphans(kept)])
        self.compacted_size = len(self.messages)

    def _clear(self, _: ContextCleared) -> None:
        self._cleared.add(len(self._archive))
        self._archive.append(self._entries)
        self._replace([])

    def _revert(self, reverted: ContextReverted) -> None:
        entries = self._holding(reverted.checkpoint_id)
        if entries is not None:
            if reverted.restore_id:
                self._left.append(self._entries)
                self.undone.append(reverted.restore_id)
            self._replace(entries[: entries.index(ContextCheckpoint(reverted.checkpoint_id)) + 1])

    def _return(self, _: ContextReturned) -> None:
        if self._left:
            self.undone.pop()
            self._replace(self._left.pop())

    def _holding(self, checkpoint_id: int) -> list[_Kept] | None:
        mark = ContextCheckpoint(checkpoint_id)
        return next((entries for entries in (self._entries, *reversed(self._archive)) if mark in entries), None)

    def _replace(self, entries: list[_Kept]) -> None:
        self._close_step()
        self.generation += 1
        self.compacted_size = -1
        self._measured = False
        self._entries = entries
        self._made, self._made_of = [], 0
        self._owners = {call_id: step for step in entries if isinstance(step, Step) for call_id in step.calls}
        counted = max((at for at, entry in enumerate(entries) if isinstance(entry, Usage)), default=-1)
        usage = entries[counted] if counted >= 0 else None
        self.token_count = usage.token_count if isinstance(usage, Usage) else 0
        self._pending = sum(map(message_weight, _messages(entries[counted + 1 :])))
        if usage is None:
            self._pending += weight(self.system_prompt)


def _messages(entries: Iterable[_Kept]) -> Iterator[ChatMessage]:
    for entry in entries:
        if isinstance(entry, Said | Step):
            yield from entry.messages()
        elif isinstance(entry, ChatMessage):
            yield entry


def _with_results(messages: Sequence[ChatMessage], positions: Iterable[int], stop: int) -> Iterator[ChatMessage]:
    """The messages at `positions` before `stop`, every call among them with its results."""
    chosen = {at for at in positions if 0 <= at < stop}
    for at in range(stop):
        if messages[at].role == "tool" and at - 1 in chosen:
            chosen.add(at)
        if at in chosen:
            yield messages[at]


def _without_orphans(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """Drop results whose call did not survive the cut."""
    known: set[str] = set()
    for message in messages:
        known.update(call.id for call in message.tool_calls)
        if message.tool_call_id is None or message.tool_call_id in known:
            yield message

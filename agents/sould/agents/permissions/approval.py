"""Approvals: the one door between a tool and its effects.

A person's answer is bound to the exact action by a digest; what "for session" remembers is worded before it is stored
(D29). A request that nobody answers waits: silence is neither yes nor no (D16). This module runs nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from pydantic import JsonValue

from sould.agents.base.clock import waiting_for_the_user
from sould.agents.base.filenames import FileNames, names_of
from sould.agents.base.workspace import ResolvedPath
from sould.agents.permissions.asking import Ask, RulesSource, call_words, is_short, question_of
from sould.agents.permissions.hardlinks import HardLinks
from sould.agents.permissions.lasting import Lasting, Offer
from sould.agents.permissions.outputs import OutputReview
from sould.agents.permissions.policy import (
    EDIT_SECRET,
    READ_SECRET,
    Action,
    CallExternal,
    EditFile,
    FetchPage,
    Mode,
    ReadFile,
    RunCommand,
    Trust,
    Verdict,
    decide,
    is_granted,
    may_search,
    named_paths,
    programs_run,
)
from sould.agents.permissions.policycontext import PolicyContext, SecretNames
from sould.agents.permissions.programs import Programs, changed
from sould.agents.permissions.rules import Rules, RulesError
from sould.agents.permissions.secretnames import secret_globs
from sould.agents.permissions.secrets import SecretFiles, secret_file, secret_name
from sould.agents.permissions.visible import (
    file_name,
)
from sould.agents.toolapi.base import ToolCallContext, tool_error, tool_rejected
from sould.agents.wire.display import DisplayBlock, ShellBlock
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, OutputSource, ToolReturn

MOST_SHOWN: Final = 32
"""Questions shown at once; further ones wait their turn."""


CurrentMode: TypeAlias = Callable[[], Mode]
"""What happens without asking, which may be another mode at every look."""


class Consent(Struct, frozen=True):
    """Whether an action may go ahead. `refused`: why not, as the call's result. `seen`: a person was shown it and said yes.

    `text`: what that person made of the text that was to be written, or of the command that was to be run. `all_names`: the yes
    is also for names of the file outside the project (hard links).
    """

    refused: ToolReturn | None = None
    seen: bool = False
    text: str | None = None
    all_names: bool = False


class Approval:
    """Decides, asks, remembers. Injectable into tools; one per session, shared by its subagents."""

    def __init__(
        self,
        *,
        ask: Ask,
        rules: RulesSource,
        trust: Trust,
        mode: CurrentMode,
        where: PolicyContext,
        lasting: Lasting | None = None,
    ) -> None:
        """`rules`: the user's, as they are at each decision. `where`: the session's place, as `PolicyContext.of` makes it.

        `lasting`: what answers allow beyond a session; None: nothing.
        Without an environment no command is known to be harmless, because nobody knows which program it runs.
        """
        self._ask = ask
        self._rules = rules
        self.outputs = OutputReview(ask, rules)
        """What calls brought back, before their models see it."""
        self._session = Rules()
        self._lasting = lasting
        self._secrets = SecretFiles()
        self._configured_names = where.secret_names
        self._names: SecretNames | None = None
        where = replace(where, secret_names=self._known_names, secret_look=self._secrets.look)
        self._where = replace(where, other_names=HardLinks(where).other_names, names_of=self._names_of)
        self._judging = asyncio.Lock()
        self._shown = asyncio.Semaphore(MOST_SHOWN)
        self.unanswered: set[str] = set()
        """Calls that wait for an answer, or were cancelled while they did: nothing of them has run."""
        self.trust: Trust = trust
        self._mode = mode

    def _known_names(self) -> SecretNames:
        """As they were configured when this decision began."""
        if self._names is None:
            self._names = self._configured_names()
        return self._names

    def _names_of(self, path: Path) -> FileNames:
        return names_of(path, (self._where.root, *self._where.additional))

    def judge_as(self, trust: Trust) -> None:
        """From now on the workspace stands like this."""
        self.trust = trust

    @property
    def mode(self) -> Mode:
        """What goes ahead without asking. A change holds at once, also for questions being asked."""
        return self._mode()

    def forget(self, tool: str) -> None:
        """Ask again about a tool that is not what it was when it was allowed for this session."""
        self._session = Rules(tuple(rule for rule in self._session.rules if rule.tool != tool))
        self.outputs.forget(tool)

    def judge(self, action: Action, *, read_only: bool = False) -> Verdict:
        """The decision as things stand, without asking anybody. While nobody knows what the rules forbid, all is forbidden.

        `read_only`: for an agent that never changes anything.
        """
        return self._judge_in("plan" if read_only else self.mode, action)

    def _judge_in(self, mode: Mode, action: Action) -> Verdict:
        try:
            rules = self._rules()
        except RulesError as error:
            return Verdict("deny", f"your rules cannot be used: {error.message.rstrip('.')}")
        kept, problem = self._kept(action)
        verdict = decide(action, rules + kept + self._session, self.trust, mode, self._where)
        if problem and verdict.decision == "ask":
            return replace(verdict, reason="\n".join(filter(None, (verdict.reason, problem))))
        return verdict

    def _kept(self, action: Action) -> tuple[Rules, str]:
        """What earlier answers allow, and why that is nothing when nobody can tell."""
        try:
            return self._lasting.rules(action, self.trust) if self._lasting else Rules(), ""
        except RulesError as error:
            return Rules(), f"What you allowed beyond a session does not count: {error.message}"

    async def kept_from(self, action: RunCommand) -> tuple[str, ...]:
        """Globs, without case, of the secrets that a command must not look into, because nobody was asked about it."""
        return await asyncio.to_thread(self._kept_from, action) if may_search(action) else ()

    def _kept_from(self, action: RunCommand) -> tuple[str, ...]:
        return secret_globs(self._where) if self.judge(action).searches else ()

    async def judge_to_edit(self, path: ResolvedPath, call: ToolCallContext) -> Verdict:
        """The decision about an edit of whatever the file holds, which is read first. Nobody is asked."""
        _, verdict = await self._judged(EditFile(path, "modify", reads=True), call)
        return verdict

    def judge_found_file(self, path: Path) -> Verdict:
        """Whether a file that was found in a directory the model may read is shown with the others, unasked. Blocks."""
        return self.judge(ReadFile(ResolvedPath(path, inside=True, others=self.other_names(path))))

    def other_names(self, path: Path) -> tuple[Path, ...]:
        """The secrets that the file at `path` is under other names. Blocks."""
        return self._where.other_names(path)

    async def secret(self, path: ResolvedPath, *texts: str) -> str:
        """Why a file is a secret, by its names and what is on disk, or with one of these texts in it; "" when it is none."""
        return await asyncio.to_thread(self._secret, path, texts)

    def _secret(self, path: ResolvedPath, texts: Sequence[str]) -> str:
        names = (*path.names, *self.other_names(path.path))
        found = (self._secrets.content(path.path, text.encode(errors="replace"), self._where) for text in texts)
        return secret_file(names, self._where) or next(filter(None, found), "")

    def secret_in(self, path: Path, *contents: bytes) -> str:
        """Why a file with one of these contents is a secret, or "", as it is for none. Blocks: call it in a thread."""
        if contents and is_granted(path, self._session, READ_SECRET, EDIT_SECRET):
            return f"{path} was asked about as a secret"
        by_name = secret_name(self.other_names(path), self._where) if contents else ""
        found = (self._secrets.content(path, data, self._where) for data in contents)
        return by_name or next(filter(None, found), "")

    async def request(
        self,
        call: ToolCallContext,
        action: Action,
        *,
        sender: str,
        description: str,
        display: tuple[DisplayBlock, ...] = (),
    ) -> ToolReturn | None:
        """None: go ahead with exactly this action. A `ToolReturn`: it was refused; return it as the tool's result.

        See `consent`.
        """
        return (await self.consent(call, action, sender=sender, description=description, display=display)).refused

    async def request_external(self, call: ToolCallContext, action: CallExternal, wanted: str) -> ToolReturn | None:
        """`request` for a tool that is not sould's own. Who is asked reads `wanted`, and the arguments a line each."""
        return await self.request(call, action, sender=action.name, description=call_words(wanted, action.arguments))

    async def consent(
        self,
        call: ToolCallContext,
        action: Action,
        *,
        sender: str,
        description: str,
        display: tuple[DisplayBlock, ...] = (),
        let_go: Callable[[], Awaitable[None]] | None = None,
    ) -> Consent:
        """Whether exactly this action may go ahead, and whether a person said so who was shown it.

        Waits without limit for an answer (D16); cancellation is the task's. What a command runs is looked at once more
        when everything else is done: when it is not what was shown, it is asked about again. `let_go`: gives back what nobody
        may hold while a person is asked.
        """
        shown: Programs | None = None
        """What the command runs, as it was when a person allowed it."""
        text: str | None = None
        all_names = False
        effects_begun = not isinstance(action, RunCommand | CallExternal)
        while True:
            action, verdict = await self._judged(action, call)
            if verdict.decision == "deny":
                return Consent(denied(verdict.reason))
            if verdict.decision == "ask" and shown != (now := programs_run(action, self._where)):
                if let_go is not None:
                    await let_go()
                asked = self._in_turn(action, call, sender, description, display, shown, now)
                action, verdict, answered = await asked
                if answered is None:
                    continue
                if answered.refused is not None:
                    return answered
                shown, all_names = now, verdict.all_names
                if answered.text is not None:
                    text = answered.text
                    if isinstance(action, RunCommand):
                        action, display, shown = await self._as_written(action, display, text)
            elif not effects_begun:
                await call.effects()
                effects_begun = True
            else:
                if (source := _source(action)) is not None:
                    call.reached(source)
                all_names = all_names or (verdict.decision == "allow" and verdict.all_names)
                return Consent(seen=shown is not None, text=text, all_names=all_names)

    async def _in_turn(
        self,
        action: Action,
        call: ToolCallContext,
        sender: str,
        description: str,
        display: tuple[DisplayBlock, ...],
        shown: Programs | None,
        now: Programs,
    ) -> tuple[Action, Verdict, Consent | None]:
        """Put the question when its turn has come. None: an answer to another one has settled it meanwhile."""
        async with self._shown:
            action, verdict = await self._judged(action, call)
            verdict = _since(shown, now, verdict)
            if verdict.decision != "ask":
                return action, verdict, None
            lost = await self._not_kept(action, call)
            offers = await self._offers(action, verdict)
            question = question_of(call, action, verdict, sender, f"{description}{lost}", display)
            everywhere = await self._in_full(action)
            update = {
                "lasting": tuple(each.shown for each in offers),
                "in_every_mode": everywhere.decision != "allow",
            }
            async with call.asking():
                return action, verdict, await self._put(call, question.model_copy(update=update), verdict, offers)

    async def _as_written(
        self, action: RunCommand, display: tuple[DisplayBlock, ...], line: str
    ) -> tuple[RunCommand, tuple[DisplayBlock, ...], Programs | None]:
        """A command as its user wrote it anew, and what it runs, which they know; None: they are asked about it."""
        written = replace(action, line=line)
        everywhere = await self._in_full(written)
        blocks = (
            each.model_copy(update={"command": line}) if isinstance(each, ShellBlock) else each for each in display
        )
        return written, tuple(blocks), programs_run(written, self._where) if everywhere.decision == "allow" else None

    async def _in_full(self, action: Action) -> Verdict:
        """What full access makes of it: some is asked about in every mode, as what reads a secret is."""
        async with self._judging:
            return await asyncio.to_thread(self._judge_in, "full", action)

    async def _not_kept(self, action: Action, call: ToolCallContext) -> str:
        """What a command names and could not be had back after it, as the question says it."""
        if not isinstance(action, RunCommand):
            return ""
        found = await call.not_kept(await asyncio.to_thread(named_paths, action, self._where))
        names = dict.fromkeys(file_name(str(path)) for path in found)
        return f"\nGoing back could not restore what is not saved: {', '.join(names)}." if names else ""

    async def _offers(self, action: Action, verdict: Verdict) -> tuple[Offer, ...]:
        if self._lasting is None or not is_short(action):
            return ()
        async with self._judging:  # questions stay in the order of their calls
            return await self._lasting.offers(action, verdict.scope_offer, self.trust, self._where)

    async def _put(
        self, call: ToolCallContext, request: ApprovalRequest, verdict: Verdict, offers: Sequence[Offer]
    ) -> Consent:
        self.unanswered.add(request.tool_call_id)
        with waiting_for_the_user():
            answer = await self._ask(request)
        self.unanswered.discard(request.tool_call_id)
        remembers = self._lasting if answer.text is None else None  # what was offered is another action
        kept = remembers is not None and await remembers.keep(offers, answer)
        refused = self._settle(answer, verdict, request, kept=kept)
        if answer.feedback and refused is None:
            call.allowed_with(answer.feedback)
        return Consent(refused, seen=refused is None, text=answer.text)

    async def ask(
        self, call: ToolCallContext, tool: str, description: str, arguments: Mapping[str, JsonValue] | None = None
    ) -> ToolReturn | None:
        """`request` for a tool of the user's own, before its effect: asked like a tool of an MCP server.

        What is not None is the tool's result. Modes and rules (`mcp:NAME`) may answer in the user's place.
        """
        return await self.request(call, CallExternal(tool, arguments or {}), sender=tool, description=description)

    async def _judged(self, action: Action, call: ToolCallContext) -> tuple[Action, Verdict]:
        """`judge`, and the action with all names of its file: in a thread, as files are looked into, and in order."""
        if not isinstance(action, ReadFile | EditFile | RunCommand):
            return action, self.judge(action, read_only=call.read_only)
        self._names = self._configured_names()
        async with self._judging:
            return await asyncio.to_thread(self._judge_files, action, call.read_only)

    def _judge_files(self, action: ReadFile | EditFile | RunCommand, read_only: bool) -> tuple[Action, Verdict]:
        if isinstance(action, RunCommand):
            self._secrets.remember_beside(self._where)
        else:
            others = (*action.path.others, *self.other_names(action.path.path))
            action = replace(action, path=replace(action.path, others=tuple(dict.fromkeys(others))))
        verdict = self.judge(action, read_only=read_only)
        if verdict.decision == "ask":
            named = named_paths(action, self._where) if isinstance(action, RunCommand) else action.path.names
            self._secrets.remember_all(named, self._where)
        return action, verdict

    def _settle(
        self, answer: ApprovalResponse, verdict: Verdict, request: ApprovalRequest, *, kept: bool
    ) -> ToolReturn | None:
        """`kept`: what was answered stands in the user's file, so that it ends there, for this session as for all."""
        if answer.response == "reject":
            return tool_rejected(answer.feedback)
        if answer.text is not None:
            return None
        if verdict.grant is not None:
            self._session += Rules((verdict.grant,))
        offer = verdict.scope_offer
        if answer.response == "approve_for_session" and request.scope and offer is not None and not kept:
            always = replace(offer, programs=None)
            before = (rule for rule in self._session.rules if replace(rule, programs=None) != always)
            self._session = Rules((*before, always if answer.also_changed and request.changed else offer))
        return None


def _since(shown: Programs | None, now: Programs, verdict: Verdict) -> Verdict:
    """What a person allowed is not what would run by now."""
    if shown is None or verdict.decision != "ask":
        return verdict
    return replace(verdict, changes=changed(shown, now))


def _source(action: Action) -> OutputSource | None:
    """Where the output of a call comes from that may do this; None: of what is no matter of outputs."""
    match action:
        case FetchPage(host=host):
            return OutputSource(tool="fetch", host=host)
        case CallExternal(name=name):
            return OutputSource(tool=f"mcp:{name}")
        case _:
            return None


def denied(reason: str) -> ToolReturn:
    """The result of a call that is refused whatever anybody says."""
    return tool_error(
        f"This was not run: {reason}. Do not try to reach the same by other means; choose something else or ask the user.",
        brief=f"Refused: {reason}",
    )

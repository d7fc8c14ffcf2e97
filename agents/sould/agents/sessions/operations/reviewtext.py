"""A review in words: what is pending, and what became of an order. The same for slash commands and for a terminal. Pure.

What is said is Markdown where `Speech.code` is a backtick. Names of files and lines of them are shown so that nothing in them
is invisible.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.base.text import plural
from sould.agents.files.directories.refs import target_in
from sould.agents.files.reviewing.shapes import DoneHunk, LeftHunk, ReviewOutcome, ShownFile, ShownHunk, texts_of
from sould.agents.permissions.visible import file_name, visible

MOST_LISTED: Final = 100
"""Hunks of one list."""
NOTHING_YET: Final = "Nothing is to be reviewed yet. The agent is about to write:"
MOST_NAMED: Final = 12
"""Hunks that a sentence names by their numbers."""
LOOK: Final = 60
"""Characters of a line."""


class Speech(Struct, frozen=True):
    """How a frontend writes code, and what its user may type; behind each come numbers, files or `all`."""

    code: str = "`"
    show: str = "/review"
    keep: str = "/keep"
    reject: str = "/reject"
    undo: str = "/review undo"
    choice: str = ""
    """Before a choice."""

    def coded(self, text: str) -> str:
        """A name, a number or a command."""
        fence = self.code * 2 if self.code and self.code in text else self.code
        return f"{fence} {text} {fence}" if len(fence) > 1 else f"{fence}{text}{fence}"


class Names(Struct, frozen=True):
    """What the files and hunks of one project are called: files below `directory` without it, numbers behind `prefix`."""

    directory: Path
    prefix: str = ""
    session_id: str = ""
    """The session that looks: hunks of others are said to be theirs."""
    ran: Mapping[int, str] = {}
    """By hunk that may be the user's, while what ran it was changed, in words; where that is known."""

    def file(self, path: str) -> str:
        """For people, who can type it."""
        at = Path(path)
        return visible(file_name(at.relative_to(self.directory) if at.is_relative_to(self.directory) else at))

    def number(self, hunk_id: int) -> str:
        """Likewise."""
        return f"{self.prefix}{hunk_id}"


# --- what is pending ---------------------------------------------------------------------------------------------------


def listing(projects: Iterable[tuple[Names, Sequence[ShownFile]]], speech: Speech) -> str:
    """What is to be reviewed, file by file."""
    listed = [(names, file) for names, files in projects for file in files]
    if not listed:
        return "Nothing is to be reviewed."
    lines: list[str] = [_head(listed, speech)]
    room = MOST_LISTED
    for names, file in listed:
        if room > 0:
            lines += ["", _file_line(names, file, speech)]
            lines += [_hunk_line(names, hunk, speech) for hunk in file.hunks[:room]]
            lines += [_streaming_line(hunk, names, speech) for hunk in file.streaming[:room]]
        room -= len(file.hunks)
    if room < 0:
        lines += ["", f"And {-room} more: {speech.coded(f'{speech.show} FILE')} lists those of a file or directory."]
    return "\n".join(lines)


def _head(listed: Sequence[tuple[Names, ShownFile]], speech: Speech) -> str:
    counts = [len(file.hunks) for _, file in listed if file.hunks]
    if not counts:
        return NOTHING_YET
    words = [speech.coded(word) for word in (speech.keep, speech.reject, "all", f"{speech.show} NUMBER")]
    head = f"{plural(sum(counts), 'hunk')} to review in {plural(len(counts), 'file')}. "
    return head + f"{words[0]} and {words[1]} take numbers, files or {words[2]}; {words[3]} shows one."


def _streaming_line(hunk: ShownHunk, names: Names, speech: Speech) -> str:
    look = glimpse(hunk)
    return f"- about to be written: {described(hunk, names)}" + (f": {speech.coded(look)}" if look else "")


def _file_line(names: Names, file: ShownFile, speech: Speech) -> str:
    marks = [mark for mark, holds in (("new", file.is_new), ("not saved", file.unsaved)) if holds]
    return speech.coded(names.file(file.path)) + (f" ({', '.join(marks)})" if marks else "")


def _hunk_line(names: Names, hunk: ShownHunk, speech: Speech) -> str:
    look = glimpse(hunk)
    return f"- {speech.coded(names.number(hunk.id))} {described(hunk, names)}" + (
        f": {speech.coded(look)}" if look else ""
    )


def described(hunk: ShownHunk, names: Names) -> str:
    """What a hunk is, with what is to be known before one decides."""
    return ", ".join((what(hunk, names), *_marks(hunk, names)))


def what(hunk: ShownHunk, names: Names) -> str:
    """Where a hunk is and how large, or what happened to the file."""
    before, after = _link_target(hunk.before), _link_target(hunk.after)
    match hunk.kind:
        case "add" if after:
            return f"new link to {after}"
        case "delete" if before:
            return f"deleted, a link to {before}"
        case "content" if before and after:
            return f"link to {before} -> {after}"
        case "content" if after:
            return f"replaced by a link to {after}"
        case "content" if before:
            return f"a link to {before}, replaced by a file"
        case "text":
            sizes = [f"+{len(hunk.lines)}"] * bool(hunk.lines) + [f"-{len(hunk.base)}"] * bool(hunk.base)
            return f"line {hunk.start + 1}, {' '.join(sizes)}"
        case "add":
            return f"new file, not text{_sizes(hunk)}" if hunk.after else "new empty file"
        case "delete":
            return f"deleted, not text{_sizes(hunk)}" if hunk.before else "deleted"
        case "rename":
            return f"renamed from {names.file(hunk.before)}"
        case "mode":
            return f"permissions {hunk.before} -> {hunk.after}"
        case "line_ends":
            return f"line ends {hunk.before.upper()} -> {hunk.after.upper()}"
        case "content":
            return f"replaced, not text{_sizes(hunk)}"


def _link_target(ref: str) -> str:
    """Where the link of a name leads, as it can be shown; "" of any other name."""
    target = target_in(ref)
    return visible(file_name(target.decode(errors="backslashreplace"))) if target is not None else ""


def _sizes(hunk: ShownHunk) -> str:
    """Of contents that are no text, as far as they are known."""
    known = [f"{size:,}" for size in (hunk.before_size, hunk.after_size) if size is not None]
    return f", {' -> '.join(known)} byte{'' if known[-1] == '1' else 's'}" if known else ""


def _marks(hunk: ShownHunk, names: Names) -> Iterator[str]:
    authors = [line.author for line in hunk.lines]
    own, mixed = authors.count("user"), authors.count("mixed")
    if own:
        yield f"{plural(own, 'line')} yours"
    if mixed:
        yield f"your words in {plural(mixed, 'line')}"
    if names.session_id and names.session_id not in {agent.session_id for agent in hunk.agents}:
        yield "of another session"
    if hunk.shown_in:
        yield f"in review in {visible(hunk.shown_in)}"
    if hunk.unsure:
        ran = names.ran.get(hunk.id)
        yield f"changed while {ran}, may be yours" if ran else "may be yours"
    if hunk.committed:
        yield "committed by the agent"
    if hunk.state == "rejecting":
        yield "rejected, goes when the step has ended"
    if hunk.state in ("absent", "stale"):
        yield "not in the file now"


def glimpse(hunk: ShownHunk) -> str:
    """The first line that says something."""
    return next((shortened(line) for line in (*texts_of(hunk), *hunk.base) if line.strip()), "")


def shortened(line: str) -> str:
    """As much of a line as tells it from others."""
    line = visible(line.strip())
    return line if len(line) <= LOOK else f"{line[: LOOK - 1]}…"


def left_line(names: Names, path: str, by: str, speech: Speech) -> str:
    """That what an editor held unsaved when it ended can be had."""
    name = names.file(path)
    prints = speech.coded(f"sould review unsaved {name}")
    return f"What {visible(by)} held unsaved of {speech.coded(name)} when it ended is kept: {prints} prints it."


# --- what became of an order -------------------------------------------------------------------------------------------


def answer(outcomes: Iterable[tuple[Names, ReviewOutcome]], speech: Speech) -> str:
    """What was done, what stayed of the user's, and what was left with the next step."""
    parts: list[str] = []
    for names, outcome in outcomes:
        parts += ["\n".join(_done_lines(outcome.done, names, speech))] if outcome.done else []
        parts += [_left_line(left, names, speech) for left in outcome.left]
    return "\n\n".join(dict.fromkeys(parts)) or "Nothing is to be reviewed there."


def _done_lines(done: Sequence[DoneHunk], names: Names, speech: Speech) -> Iterator[str]:
    for (verdict, waits), group in groupby(done, key=lambda each: (each.verdict, each.waits)):
        named = hunks_named(each := list(group), names, speech)
        match verdict:
            case "keep":
                yield f"Kept {named}."
            case "undo":
                yield f"To be reviewed again: {named}."
            case "reject" if waits:
                it = "it goes" if len(each) == 1 else "they go"
                yield f"Rejected {named}: {it} when the agent's running step has ended."
            case "reject":
                yield f"Rejected {named}."
    yield from _stayed_lines(done, names, speech)


def hunks_named(done: Sequence[DoneHunk], names: Names, speech: Speech) -> str:
    """`hunks 3 and 5 in a.py`, as far as they are few."""
    by_file = {path: list(group) for path, group in groupby(done, key=lambda each: each.path)}
    if len(done) > MOST_NAMED:
        return f"{len(done)} hunks in {plural(len(by_file), 'file')}"
    parts = [f"{_numbers(group, names)} in {speech.coded(names.file(path))}" for path, group in by_file.items()]
    return f"hunk{'s' if len(done) > 1 else ''} {listed_words(parts)}"


def _numbers(done: Sequence[DoneHunk], names: Names) -> str:
    return listed_words([_number(each, names) for each in done])


def _number(done: DoneHunk, names: Names) -> str:
    part = f" (a part of {names.number(done.id)})" if done.part else ""
    return f"{names.number(done.undone_by)}{part}{_kind(done.hunk, names)}"


def _kind(hunk: ShownHunk | None, names: Names) -> str:
    return f" ({what(hunk, names)})" if hunk is not None and hunk.kind != "text" else ""


def _stayed_lines(done: Sequence[DoneHunk], names: Names, speech: Speech) -> Iterator[str]:
    for path, group in groupby(done, key=lambda each: each.path):
        each = list(group)
        name = speech.coded(names.file(path))
        stayed = [line for one in each for line in one.stayed]
        verb = "stays" if len(stayed) == 1 else "stay"
        if any(one.new_file == "gone" for one in each):
            yield f"{name} is deleted: nothing of yours was in it."
        elif any(one.new_file == "stays" for one in each):
            yours = _quoted(stayed, speech) if stayed else "text of yours"
            yield f"{name} was made by the agent and stays: {yours} {'are' if len(stayed) > 1 else 'is'} in it."
        elif stayed:
            yield f"{_quoted(stayed, speech)} {verb} in {name}."


def _quoted(lines: Sequence[str], speech: Speech) -> str:
    """`2 lines of yours (…)`; of many, only how many."""
    shown = [speech.coded(shortened(line)) for line in lines if line.strip()]
    return f"{plural(len(lines), 'line')} of yours" + (f" ({', '.join(shown)})" if 0 < len(shown) <= 3 else "")


def _left_line(left: LeftHunk, names: Names, speech: Speech) -> str:
    number = names.number(left.id)
    place = f" in {speech.coded(names.file(left.path))}" if left.path else ""
    if left.why == "still_streaming":
        return f"Left: what the agent is about to write{place}. {_sentence(left.message)}"
    if left.why == "unknown":
        return f"There is no hunk {number}."
    return f"Left: hunk {number}{place}. {_reason(left, number, names, speech)}"


def _reason(left: LeftHunk, number: str, names: Names, speech: Speech) -> str:
    """Why nothing was done, and what can be."""
    match left.why:
        case "needs_choice":
            mine, drop = (
                speech.coded(f"{speech.reject} {number} {speech.choice}{choice}") for choice in ("mine", "drop")
            )
            words = ", ".join(speech.coded(shortened(line)) for line in left.mixed[:3])
            return f"You changed words in lines of the agent ({words}): {mine} keeps those lines, {drop} drops them."
        case "conflict" if left.choices:
            replace = speech.coded(f"{speech.reject} {number} {speech.choice}replace")
            return (
                f"Something of yours is there now. {replace} puts the old content in its place; yours stays in the log."
            )
        case "conflict":
            return (
                f"Something else is at {speech.coded(names.file(left.path))} now: reject that first, or move it away."
            )
        case "hunk_stale" if left.present is not None:
            again = speech.coded(f"{speech.show} {number}")
            return f"It was changed since you saw it. {again} shows it as it is now."
        case "hunk_stale":
            return "It has ended: what it changed is not there any more."
        case "already_decided":
            undo = f"{speech.coded(f'{speech.undo} {number}')} takes that back"
            return f"{visible(left.message)}{_at(left.at)}. {undo if left.can_undo else 'That cannot be taken back'}."
        case "not_there" if left.state in ("absent", "stale"):
            other = "Something else stands in its place" if left.state == "stale" else "Its text is not in the file"
            return f"{other} now. When it is back, it is to be reviewed again, with its number."
        case "shared":
            return "Another session or a later turn changed it, too: name it by its number."
        case _:
            return _sentence(left.message)


def _at(moment: str) -> str:
    if not moment:
        return ""
    at = datetime.fromisoformat(moment).astimezone()
    return f" ({at:%H:%M})" if at.date() == datetime.now(UTC).astimezone().date() else f" ({at:%Y-%m-%d %H:%M})"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def listed_words(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(([", ".join(words[:-1])] if words[:-1] else []) + list(words[-1:]))


# --- what others decided -----------------------------------------------------------------------------------------------


def news_of(by: str, outcome: ReviewOutcome, names: Names, *, waited: bool) -> Iterator[tuple[str, str]]:
    """A line for each kind of decision, and what goes with it: for the clients of a session whose agent had a part in it.

    `waited`: it was ordered earlier.
    """
    plain = Speech(code="")
    for (verdict, waits), group in groupby(outcome.done, key=lambda each: (each.verdict, each.waits)):
        done = list(group)
        named = hunks_named(done, names, plain)
        verb = {"keep": "kept", "reject": "rejected", "undo": "took back the decision about"}[verdict]
        later = ", to go when the running step has ended" if waits else ""
        yield f"{visible(by)} {verb} {named}{later}", "\n".join(_stayed_lines(done, names, plain))
    for left in outcome.left if waited else ():
        place = f"Hunk {names.number(left.id)} in {names.file(left.path)}"
        yield f"{place} was not rejected after all", _reason(left, names.number(left.id), names, plain)

"""`sould review`: what agents changed in this project, listed, shown, kept and rejected; also of closed sessions, with no model.

A client of the daemon like any other (D41). Words and colours are in `screen`, the dialogue in `pages`:
they are loaded when something is to be said, which JSON needs not. The daemon answers nothing of it to what an agent runs.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from sould.daemon.cli.output import FAILED, OK, USAGE, Command, CommandError, CommandGroup
from sould.daemon.cli.review.client import (
    NO_PROJECT,
    Answer,
    Chosen,
    How,
    ReviewClient,
    SurroundingLines,
    files_of,
    outcome_of,
    reviewing,
)
from sould.daemon.cli.terminal import pager

if TYPE_CHECKING:
    from sould.agents.files.review.decisions import Verdict
    from sould.agents.sessions.operations.reviewtext import Names

LIST: Final = "list"
_NUMBERS: Final = re.compile(r"(?P<first>\d+)(?:-(?P<last>\d+)|:(?P<digest>[0-9a-f]+))?")
_WHICH: Final = "Say which: numbers (3), ranges (3-5), files, directories or `all`. `sould review list` has them."
MOST_IN_RANGE: Final = 1_000
Decorated: TypeAlias = Any


class _ReviewGroup(CommandGroup):
    """Without the name of a command, it is `list`, or the dialogue."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """See click; what a shell wants completed is the name of a command."""
        if ctx.resilient_parsing and not args:
            return super().parse_args(ctx, args)
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            pages = not args and sys.stdin.isatty() and sys.stdout.isatty()
            args = [LIST, *(["--patch"] if pages else args)]
        return super().parse_args(ctx, args)


@click.group(cls=_ReviewGroup, subcommand_metavar="[PATH... | COMMAND ...]")
def review() -> None:
    """Review what agents changed in the project of this directory, hunk by hunk.

    Without anything more, at a terminal, hunks are shown one after the other, and you keep or reject each. Everything
    works while an agent runs, for closed sessions, and without a model. What you typed stays when you reject.

    Examples:
      sould review
      sould review -p src
      sould review list src
      sould review show 3
      sould review keep 3 5-7 docs
      sould review reject 4 --reason "use the standard library"
      sould review undo 4

    Exit codes:
      0    done, also when there was nothing to do
      1    something was left, and it is said what to do about it
      2    wrong usage
      75   try again later: the daemon ended, or the disk is full
    """


def _where(command: Decorated) -> Decorated:
    """The options of every form."""
    options = (
        click.option("--cwd", "-w", type=click.Path(exists=True, file_okay=False), default=".", help="The project."),
        click.option("--json", "as_json", is_flag=True, help="Print the daemon's answer as JSON."),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="auto: at a terminal, without NO_COLOR.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _of_whom(command: Decorated) -> Decorated:
    """Options for a part of what is pending."""
    session = click.option("--session", "-S", default="", metavar="ID", help="Of this session (the beginning will do).")
    turn = click.option("--turn", default="", metavar="ID", help="Of this turn (the beginning will do).")
    return session(turn(command))


@review.command(LIST, cls=Command, short_help="List what is pending, by file.")
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]...")
@click.option("--patch", "-p", "pages", is_flag=True, help="One after the other, and ask about each.")
@click.option("--all", "-a", "absent", is_flag=True, help="Also what is not in its file now.")
@_of_whom
@_where
def list_pending(
    paths: tuple[str, ...],
    pages: bool,
    absent: bool,
    session: str,
    turn: str,
    cwd: str,
    as_json: bool,
    color: str,
) -> None:
    """List what is pending, by file, with the numbers that the other commands take.

    Examples:
      sould review src/parser.py
      sould review --session 01JD --json | jq '.files[].path'
      sould review -p src
    """
    if pages and as_json:
        raise click.UsageError("--patch and --json cannot be combined.")
    with reviewing(os.path.realpath(cwd)) as client:
        _are_there(client, _absolute(paths))
        chosen = _part(client, Chosen({}, _absolute(paths), session, turn))
        answer = client.pending(chosen, absent=absent)
        if answer["root"] == NO_PROJECT and not paths:
            chosen = _below(chosen, cwd)
            answer = client.pending(chosen, absent=absent)
        if pages:
            from sould.daemon.cli.review.pages import Pages  # noqa: PLC0415 -- a list needs no dialogue

            Pages(client, chosen, _names(cwd), colour=_has_colour(color)).run()
            return
    if as_json:
        _print_json(answer)
    else:
        _print_list(answer, cwd, paths, colour=_has_colour(color))


@review.command(cls=Command, short_help="Show hunks as diffs.")
@click.argument("numbers", nargs=-1, required=True, metavar="NUMBER...")
@_where
def show(numbers: tuple[str, ...], cwd: str, as_json: bool, color: str) -> None:
    """Show hunks as diffs, with the words that differ.

    Examples:
      sould review show 3
      sould review show 3-7 --color always | less -R
    """
    with reviewing(os.path.realpath(cwd)) as client:
        answer = client.pending(absent=True)
        wanted = list(_numbers(numbers, answer))
        found = {hunk["id"] for file in answer["files"] for hunk in file["hunks"]}
        text = "" if as_json else _shown(client, answer, cwd, wanted)
    if as_json:
        _print_json({**answer, "files": _only(answer, wanted)})
    elif text:
        pager.show(text, colour=_has_colour(color))
    missing = [number for number in wanted if number not in found]
    if missing:
        raise CommandError(f"Not to be reviewed (any more): {', '.join(map(str, missing))}.")


@review.command(cls=Command, short_help="Keep changes.")
@click.argument("which", nargs=-1, type=click.Path(), metavar="NUMBER|PATH|all...")
@_of_whom
@_where
def keep(which: tuple[str, ...], session: str, turn: str, cwd: str, as_json: bool, color: str) -> None:
    """Keep changes: they become your text.

    NUMBER:DIGEST, with the digest that --json has, does nothing when the hunk is another one by now.

    Examples:
      sould review keep 3
      sould review keep src docs/plan.md
      sould review keep all
    """
    _decide("keep", which, session, turn, cwd, How(), as_json=as_json, color=color)


@review.command(cls=Command, short_help="Reject changes; what you typed stays.")
@click.argument("which", nargs=-1, type=click.Path(), metavar="NUMBER|PATH|all...")
@click.option(
    "--choice",
    type=click.Choice(["mine", "drop", "replace"]),
    help="Lines of the agent with words of yours stay (mine) or go (drop); what you have in the place of something"
    " that is to come back is replaced.",
)
@click.option("--reason", "-m", default="", metavar="TEXT", help="What the agent is told.")
@_of_whom
@_where
def reject(
    which: tuple[str, ...],
    choice: str | None,
    reason: str,
    session: str,
    turn: str,
    cwd: str,
    as_json: bool,
    color: str,
) -> None:
    """Reject changes: what was there before comes back, and what you typed stays.

    While the agent works, a rejected hunk goes when its step has ended.

    Examples:
      sould review reject 3 -m "the name was right"
      sould review reject 5 --choice mine
      sould review reject --session 01JD all
    """
    _decide("reject", which, session, turn, cwd, How(choice, reason), as_json=as_json, color=color)


@review.command(cls=Command, short_help="Take a keep or a reject back.")
@click.argument("numbers", nargs=-1, required=True, metavar="NUMBER...")
@_where
def undo(numbers: tuple[str, ...], cwd: str, as_json: bool, color: str) -> None:
    """Take a keep or a reject back: the hunk is pending again. Of a range, what can be taken back.

    Examples:
      sould review undo 3
      sould review undo 3-5
    """
    named = list(_numbers([word for word in numbers if "-" not in word], None))
    ranged = [number for word in numbers if "-" in word for number in _range(word)]
    with reviewing(os.path.realpath(cwd)) as client:
        answer = client.undo([*named, *ranged])
    left = [each for each in answer["left"] if each["id"] in named or not _has_no_decision(each)]
    answer = {**answer, "left": left}
    if answer["done"] or left or as_json:
        _print_outcome(answer, cwd, as_json=as_json, colour=_has_colour(color))
    else:
        click.echo("Nothing was decided there that can be taken back.")


@review.command(cls=Command, short_help="Print what an editor held unsaved when it ended.")
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]...")
@_where
def unsaved(paths: tuple[str, ...], cwd: str, as_json: bool, color: str) -> None:
    """Print what an editor held unsaved of files under review when it was killed, or list these files.

    Examples:
      sould review unsaved
      sould review unsaved src/parser.py > parser.py
    """
    with reviewing(os.path.realpath(cwd)) as client:
        found = client.unsaved(_absolute(paths))
    if as_json:
        _print_json({"unsaved": found})
    elif paths:
        click.echo("".join(each["text"] for each in found), nl=False)
    else:
        for each in found:
            click.echo(f"{_names(cwd).file(each['path'])}  held by {each['by']}, {each['at']}")
    if paths and not found:
        raise CommandError("Nothing unsaved is kept of that.")


# --- which are meant --------------------------------------------------------------------------------------------------


def _decide(
    verdict: "Verdict",
    which: Sequence[str],
    session: str,
    turn: str,
    cwd: str,
    how: How,
    *,
    as_json: bool,
    color: str,
) -> None:
    if not which and not session and not turn:
        raise click.UsageError(_WHICH)
    with reviewing(os.path.realpath(cwd)) as client:
        chosen = _chosen(client, which, session, turn)
        if not chosen.hunks and not chosen.paths and client.pending(chosen)["root"] == NO_PROJECT:
            chosen = _below(chosen, cwd)
        answer = client.decide(verdict, chosen, how)
    _print_outcome(answer, cwd, as_json=as_json, colour=_has_colour(color))


def _chosen(client: ReviewClient, which: Sequence[str], session: str, turn: str) -> Chosen:
    """Numbers with files become numbers: a request names the ones or the others."""
    words = [part for word in which for part in (word.split(",") if re.fullmatch(r"[\d,:-]+", word) else [word])]
    numbers = [word for word in words if _NUMBERS.fullmatch(word)]
    paths = _absolute([word for word in words if word not in numbers and word != "all"])
    if "all" in words and paths:
        raise click.UsageError("`all` is everything that is pending: leave the files out, or `all`.")
    _are_there(client, paths)
    part = _part(client, Chosen({}, paths, session, turn))
    if not numbers:
        return part
    if "all" in words or session or turn:
        raise click.UsageError("Numbers name hunks by themselves: leave `all`, --session and --turn out.")
    digests = {match["first"]: match["digest"] for word in numbers if (match := _NUMBERS.fullmatch(word))}
    hunks = {n: digests.get(str(n)) or "" for n in _numbers(numbers, client.pending())}
    if paths:
        listed = client.pending(part)["files"]
        hunks |= {hunk["id"]: hunk["digest"] for file in listed for hunk in file["hunks"]}
    return Chosen(hunks)


def _part(client: ReviewClient, chosen: Chosen) -> Chosen:
    """With whole ids of session and turn, which may have been named by their beginnings."""
    if not chosen.session_id and not chosen.turn_id:
        return chosen
    files = client.pending(absent=True)["files"]
    agents = [agent for file in files for hunk in file["hunks"] for agent in hunk["agents"]]
    session = _whole("session", chosen.session_id, (agent["sessionId"] for agent in agents))
    if session and session not in {agent["sessionId"] for agent in agents}:
        session = _known_session(session)
    turn = _whole("turn", chosen.turn_id, (agent["turnId"] for agent in agents))
    return chosen._replace(session_id=session, turn_id=turn)


def _known_session(beginning: str) -> str:
    """A session of which nothing is pending, by the beginning of its id. Raises CommandError: there is none."""
    from sould.daemon.cli.running import running  # noqa: PLC0415 -- what is pending names its sessions itself
    from sould.daemon.methods import ShowSession  # noqa: PLC0415 -- as above

    with running() as daemon:
        return str(daemon.ask(ShowSession(beginning)).session.id)


def _below(chosen: Chosen, cwd: str) -> Chosen:
    """In a directory that is no project, such as the user's home, only what lies in it is meant."""
    return chosen._replace(paths=(os.path.realpath(cwd),))


def _whole(kind: str, beginning: str, ids: Iterable[str]) -> str:
    if not beginning:
        return ""
    found = sorted({each for each in ids if each.startswith(beginning)})
    if len(found) > 1 and beginning not in found:
        raise CommandError(f"Several {kind}s begin with {beginning}: {', '.join(found[:5])}.", USAGE)
    return found[0] if len(found) == 1 else beginning


def _numbers(words: Iterable[str], answer: Answer | None) -> Iterable[int]:
    """Of ranges those that are pending in `answer`."""
    pending = [hunk["id"] for file in answer["files"] for hunk in file["hunks"]] if answer else []
    for word in words:
        match = _NUMBERS.fullmatch(word)
        if match is None or (match["last"] and answer is None):
            raise click.UsageError(f"{word!r} is no number of a hunk. `sould review list` has them.")
        first, last = int(match["first"]), match["last"]
        yield from [number for number in pending if first <= number <= int(last)] if last else [first]


def _range(word: str) -> range:
    match = _NUMBERS.fullmatch(word)
    if match is None:
        raise click.UsageError(f"{word!r} is no range of numbers of hunks, such as 3-5.")
    found = range(int(match["first"]), int(match["last"]) + 1)
    if not 0 < len(found) <= MOST_IN_RANGE:
        raise click.UsageError(f"{word!r} is no range of at most {MOST_IN_RANGE} hunks.")
    return found


def _has_no_decision(left: Answer) -> bool:
    """Of what is left of a range: there is nothing to take back; what cannot be put back is said."""
    is_pending = left["why"] == "changed" and left.get("present") is not None
    return is_pending or left["why"] in ("unknown", "already_decided")


def _are_there(client: ReviewClient, paths: Iterable[str]) -> None:
    """Raises CommandError: one of them neither exists nor has anything to be reviewed."""
    for path in paths:
        if not os.path.lexists(path) and not client.pending(Chosen({}, (path,)), absent=True)["files"]:
            raise CommandError(f"{path!a} neither exists nor is under review.", USAGE)


def _absolute(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(os.path.abspath(os.path.expanduser(path)) for path in paths)


def _only(answer: Answer, numbers: Sequence[int]) -> list[Answer]:
    files = [{**file, "hunks": [hunk for hunk in file["hunks"] if hunk["id"] in numbers]} for file in answer["files"]]
    return [file for file in files if file["hunks"]]


# --- what is printed --------------------------------------------------------------------------------------------------


def _has_colour(wish: str) -> bool:
    if wish != "auto":
        return wish == "always"
    return not os.environ.get("NO_COLOR") and pager.is_screen()


def _names(cwd: str) -> "Names":
    from pathlib import Path  # noqa: PLC0415 -- JSON needs no words

    from sould.agents.sessions.operations.reviewtext import Names  # noqa: PLC0415 -- as above

    return Names(Path(os.path.realpath(cwd)))


def _print_json(answer: Answer) -> None:
    """Escaped beyond ASCII: what is in files does not drive a terminal."""
    click.echo(json.dumps(answer, indent=2))


def _print_list(answer: Answer, cwd: str, paths: Sequence[str], *, colour: bool) -> None:
    from sould.daemon.cli.review import screen  # noqa: PLC0415 -- as above

    files = files_of(answer)
    names = _names(cwd)
    if files:
        pager.show(screen.listing(names, files), colour=colour)
        return
    where = f" in {', '.join(names.file(os.path.realpath(path)) for path in paths)}" if paths else ""
    click.echo(f"Nothing is to be reviewed{where}.")


def _shown(client: ReviewClient, answer: Answer, cwd: str, numbers: Sequence[int]) -> str:
    from sould.daemon.cli.review import screen  # noqa: PLC0415 -- as above

    files = SurroundingLines(client)
    known = {hunk.id: hunk for file in files_of(answer) for hunk in file.hunks}
    hunks = [known[number] for number in dict.fromkeys(numbers) if number in known]
    return screen.shown(_names(cwd), [(hunk, files.text(hunk)) for hunk in hunks])


def _print_outcome(answer: Answer, cwd: str, *, as_json: bool, colour: bool) -> None:
    """What was left goes the way of failures: exit code 1."""
    if as_json:
        _print_json(answer)
    else:
        from sould.agents.sessions.operations import reviewtext  # noqa: PLC0415 -- as above
        from sould.daemon.cli.review.screen import SPEECH  # noqa: PLC0415 -- as above

        click.echo(reviewtext.answer([(_names(cwd), outcome_of(answer))], SPEECH), color=colour)
    sys.exit(FAILED if answer["left"] else OK)

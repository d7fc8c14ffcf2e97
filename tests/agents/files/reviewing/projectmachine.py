"""Whatever happens in a project under review: git, renames, bytes, links, editors that end, daemons that are killed.

The oracle is slow and simple: each line is written once, so it knows whose each line of each file is. Run by
`test_whole_project`, and with `make faults` in full.
"""

import itertools
import os
import random
import stat
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule
from tests.agents.files.reviewing.contents import contents, files_in, put_back, text_of
from tests.agents.files.reviewing.deeds import FIRST, KINDS, NAMES, SETTLING, STAGING, Deed, Hand, do
from tests.agents.files.reviewing.driven import Driven
from tests.agents.files.reviewing.livedesk import LiveDesk

from sould.agents.base.diskfile import digest_of
from sould.agents.files.edits.reviewed import digest_held
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.reviewing.answers import Outcome
from sould.agents.files.reviewing.listing import ReviewedHunk
from sould.agents.files.reviewing.shapes import Verdict

WHO = st.sampled_from([("S1", ""), ("S1", "sub"), ("S2", "")])
NUMBER = st.integers(0, 9)
PLACES = st.lists(st.integers(0, 8), min_size=1, max_size=3)
DEED = st.builds(
    Deed, st.sampled_from(KINDS), st.integers(0, 5), st.integers(0, 5), PLACES.map(tuple[int, ...]), st.booleans()
)


class WholeProject(Driven[LiveDesk]):
    """Agents of two sessions, the user at a disk, in git and in an editor, and daemons that come and go."""

    @initialize(end=st.sampled_from(["\n", "\r\n"]), last=st.booleans())
    def begin(self, end: str, last: bool) -> None:
        """A project with two files and two branches, all of it committed."""
        self.end = end
        self._sit_down(LiveDesk)
        numbers = itertools.count(1)
        self.user, self.agent = Hand("user", numbers, end), Hand("agent", numbers, end)
        self.turns = itertools.count(1)
        self.done: dict[str, list[str]] = {"S1": [], "S2": []}
        """The turns of each session that were not undone."""
        for name in NAMES[:3]:
            text = "".join(self.user.line() for _ in range(FIRST))
            self.desk.user(name, text if last else text.removesuffix(end))
        self.desk.commit()
        self.desk.git("switch", "-qc", "other")
        self.desk.user(NAMES[0], self.user.changed(self.desk.text(NAMES[0]), [2], remove=True))
        (self.desk.root / NAMES[1]).unlink()
        self.desk.commit()
        self.desk.git("switch", "-q", "main")
        self.typed = {line for line in self._there() if line.startswith("user")}
        """Lines of the user's that are to be there: in a file, in a buffer, or with what is under review."""
        self.beside: set[str] = set()
        """Those that were typed beside a command, so that nobody knows whose they are: an agent may take them for its own."""
        self.odd: set[Path] = set()
        """Where a link or a directory was: what takes its place is not reviewed, and `/undo` takes it back."""
        self.accepted: set[str] = set()
        """Lines of agents that the user kept, staged or committed."""
        self._hunks()

    # --- agents ----------------------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NAMES), places=PLACES, remove=st.booleans(), deletes=st.integers(0, 5), who=WHO)
    def a_tool_writes(self, name: str, places: list[int], remove: bool, deletes: int, who: tuple[str, str]) -> None:
        """A tool of an agent changes, makes or removes a file as its user sees it."""
        before = self._seen(self.desk.root / name)
        after = self.agent.changed(before or "", places, remove=remove) if deletes else None
        if before != after:
            self._run(self.desk.writes(name, after, self._turn(who[0]), *who))
            self._forget_beside()

    @rule(deeds=st.lists(DEED, min_size=1, max_size=3), who=WHO, beside=st.none() | DEED)
    def a_command_runs(self, deeds: list[Deed], who: tuple[str, str], beside: Deed | None) -> None:
        """A command of an agent does something to files, or with git; the user may do something `beside` one that takes long."""
        hunks, before = self._hunks(), self._tree()

        def work() -> None:
            for deed in deeds:
                do(self.desk, deed, self.agent)
            if beside is not None and beside.kind not in SETTLING | STAGING | {"stash"}:
                there = self._there()
                do(self.desk, beside, self.user)
                self._note_typed(there)
                self.beside |= self._there() - there

        self.desk.certain_within = 60.0 if beside is None else 0.0
        self._run(self.desk.runs(work, self._turn(who[0]), *who))
        self._forget_beside()
        if beside is None and self._tree() == before and {deed.kind for deed in deeds} <= STAGING:
            assert [(each.id, each.digest) for each in self._hunks()] == [(each.id, each.digest) for each in hunks]

    @rule(session=st.sampled_from(["S1", "S2"]), redo=st.booleans())
    def the_last_turn_is_undone(self, session: str, redo: bool) -> None:
        """Of a session; what the user typed stays."""
        if self.done[session]:
            turn, number = self.done[session].pop(), next(self.turns)
            self._run(self.desk.undo(turn, session=session, name=f"u{number}"))
            if redo:
                self._run(self.desk.redo(f"u{number}", session=session, name=f"r{number}"))
                self.done[session].append(turn)

    # --- the user --------------------------------------------------------------------------------------------------------

    @rule(deed=DEED)
    def the_user_does(self, deed: Deed) -> None:
        """Something to files, or with git."""
        earlier, before = self._taken_away(), self._there()
        do(self.desk, deed, self.user)
        self._note_typed(before)
        if deed.kind in SETTLING:
            in_git = self._in_git()
            self.accepted |= in_git
            self._hunks()
            self.typed -= earlier - self._taken_away() - self._there()

    @rule()
    def stash_and_pop(self) -> None:
        """At once: nothing has happened."""
        desk = self.desk
        hunks, tree, before = self._hunks(absent=True), self._tree(), self._there()
        if desk.git("stash", "list") or desk.git("diff", "--cached", "--name-only") or not desk.git("diff"):
            return
        if desk.tries("stash", "-q"):
            self._hunks()
            assert desk.tries("stash", "pop", "-q")
            if self._tree() == tree:
                assert _ids(self._hunks(absent=True)) == _ids(hunks)
            else:  # what git does not keep, as where a directory is in the place of a file
                self._note_typed(before)

    @rule(number=NUMBER, place=st.integers(0, 8), ends=st.sampled_from(["", "", "save", "discard", "die"]))
    def the_user_types(self, number: int, place: int, ends: str) -> None:
        """A line in an editor, which holds it unsaved, saves it, closes the file without, or is killed."""
        texts = [path for path in files_in(self.desk.root) if text_of(path) is not None]
        self._hunks()
        if not texts:
            return
        path = texts[number % len(texts)]
        before = self._there()
        self._run(self._types(path, self.user.changed(self._seen(path) or "", [place], remove=False), ends))
        self._note_typed(before)

    async def _types(self, path: Path, text: str, ends: str) -> None:
        self.desk.editor.type(path, text)
        await self.desk.hunks()
        match ends:
            case "save":
                self.desk.editor.save(path)
            case "discard":
                self.desk.editor.discard(path)
            case "die":
                self.desk.editor.die()
            case _:
                pass

    # --- decisions -------------------------------------------------------------------------------------------------------

    @rule(number=NUMBER, verdict=st.sampled_from(["keep", "reject"]), back=st.booleans())
    def decide(self, number: int, verdict: Verdict, back: bool) -> None:
        """About a hunk, or a change of a file as a whole; that may be taken back at once."""
        hunks, seen = self._hunks(), self._tree()
        if not hunks:
            return
        hunk = hunks[number % len(hunks)]
        self._decided(verdict, hunk.id)
        if back and self._run(self.desk.decide("undo", hunk.id)).done:
            assert self._tree() == seen
            assert _ids(self._hunks()) == _ids(hunks)

    @rule(keep=st.booleans())
    def decide_all(self, keep: bool) -> None:
        """Keeping changes no byte; rejecting leaves nothing of agents but what is named."""
        there = self._there()
        outcome = self._decided("keep" if keep else "reject")
        assert {each.id for each in self._hunks()} == {each.id for each in outcome.left}
        assert {each.why for each in outcome.left} <= {"needs_choice", "conflict", "unsure"}, outcome.left
        assert self.typed & there <= self._there()

    def _decided(self, verdict: Verdict, *ids: int) -> Outcome:
        chosen = [each for each in self._hunks() if not ids or each.id in ids]
        tree, git, earlier = self._tree(), self._git(), self._taken_away()
        outcome = self._run(self.desk.decide(verdict, *ids))
        assert self._git() == git
        if verdict == "keep":
            assert self._tree() == tree
            done = {each.id for each in outcome.done}
            self.accepted |= {line for each in chosen if each.id in done for line in self._lines_in(each)}
            self.typed -= earlier - self._taken_away() - self._there()
        return outcome

    # --- daemons ---------------------------------------------------------------------------------------------------------

    @rule()
    def restart(self) -> None:
        """A new daemon knows what the old one knew; the editor tells it what it holds."""
        before = self._hunks(absent=True)
        self._run(self.desk.killed(len))
        assert self._hunks(absent=True) == before

    @rule(chance=st.integers(0, 99))
    def power_fails(self, chance: int) -> None:
        """The end of the log is gone: what it said is not known any more, and what is in files is the user's then."""
        self._hunks()
        where = random.Random(chance)
        self._run(self.desk.killed(lambda data: where.randrange(len(data) // 2, len(data) + 1)))
        self.accepted |= {line for line in self._there() if line.startswith("agent")}
        self.done = {session: [] for session in self.done}
        self._hunks()
        self.typed = {line for line in self._there() if line.startswith("user")}

    @rule(name=st.sampled_from(NAMES), places=PLACES, chance=st.integers(0, 99), written=st.booleans())
    def killed_in_a_write(self, name: str, places: list[int], chance: int, written: bool) -> None:
        """At any byte of what the log says of it, before or after the file was written: all of it happened, or nothing."""
        path = self.desk.root / name
        before, text = self._hunks(absent=True), text_of(path)
        if text is None or path in self.desk.editor.texts:
            return
        size = self.desk.log.stat().st_size
        assert self._run(self.desk.writes(name, self.agent.changed(text, places, remove=True), self._turn("S1"), "S1"))
        after = self._hunks(absent=True)
        where = random.Random(chance)

        def unless_written() -> None:
            if not happened:
                path.write_bytes(text.encode())

        happened = written

        def cut(data: bytes) -> int:
            nonlocal happened
            kept = where.randrange(size, len(data) + 1)
            announced = b'"type":"intent"' in data[size:kept].rpartition(b"\n")[0]
            settled = data[size:kept].rpartition(b"\n")[0].count(b"\n") > 0
            happened = (written and announced) or settled
            return kept

        self._run(self.desk.killed(cut, unless_written))
        assert self._hunks(absent=True) == (after if happened else before)
        if not happened:
            self.done["S1"].pop()

    @rule(number=NUMBER, verdict=st.sampled_from(["keep", "reject"]), chance=st.integers(0, 99), written=st.booleans())
    def killed_in_a_decision(self, number: int, verdict: Verdict, chance: int, written: bool) -> None:
        """At any byte of what the log says of it: it is carried out, or was never made."""
        hunks, before = self._hunks(), self._hunks(absent=True)
        if not hunks:
            return
        size = self.desk.log.stat().st_size
        tree = contents(self.desk.root)
        self._decided(verdict, hunks[number % len(hunks)].id)
        after = self._hunks(absent=True)
        where = random.Random(chance)
        made = False

        def cut(data: bytes) -> int:
            nonlocal made
            kept = where.randrange(size, len(data) + 1)
            made = b"\n" in data[size:kept]
            return kept

        def as_before() -> None:
            if made and written:
                return
            put_back(self.desk.root, tree)

        if after == before or self.desk.editor.texts:
            return
        self._run(self.desk.killed(cut, as_before))
        now = self._hunks(absent=True)
        assert _ids(now) == _ids(after if made else before)

    # --- what holds --------------------------------------------------------------------------------------------------------

    @invariant()
    def what_is_known_of_files_is_what_they_hold(self) -> None:
        """Byte for byte."""
        hunks = self._hunks()
        for name, file in self._files().items():
            path = Path(name)
            text = self._seen(path)
            if text is not None:
                assert digest_held(file) == digest_of(text.encode()), path
            elif not os.path.lexists(path):
                assert not file.exists
        assert len({each.id for each in hunks}) == len(hunks)
        told = self._run(self.desk.told())
        assert [each for path in sorted(told) for each in told[path]] == hunks

    @invariant()
    def nothing_typed_is_lost(self) -> None:
        """It is in a file, or comes back on a reject."""
        assert self.typed - self._there() - self._taken_away() == set()

    @invariant()
    def nothing_of_an_agent_is_taken_for_the_users(self) -> None:
        """Each line of theirs is in a hunk that is pending, or was accepted."""
        pending: dict[str, set[str]] = {}
        for each in self._hunks():
            pending.setdefault(each.path, set()).update(self._lines_in(each))
        self.odd |= {path for path in self.desk.root.rglob("*") if path.is_symlink() or path.is_dir()}
        for path in files_in(self.desk.root):
            if path in self.odd:
                continue
            lines = {line for line in (self._seen(path) or "").splitlines() if line.startswith("agent")}
            assert lines - pending.get(str(path), set()) - self.accepted == set(), path

    # --- the oracle ------------------------------------------------------------------------------------------------------

    def _turn(self, session: str) -> str:
        turn = f"T{next(self.turns)}"
        self.done[session].append(turn)
        return turn

    def _hunks(self, *, absent: bool = False) -> list[ReviewedHunk]:
        return self._run(self.desk.hunks(absent=absent))

    def _files(self) -> dict[str, TrackedFile]:
        return self._run(self.desk.files())

    def _seen(self, path: Path) -> str | None:
        """What the user sees of a file."""
        return self.desk.editor.texts.get(path, text_of(path))

    def _there(self) -> set[str]:
        """The lines in files and in buffers."""
        texts = [text_of(path) or "" for path in files_in(self.desk.root)] + [*self.desk.editor.texts.values()]
        return {line for text in texts for line in text.splitlines()}

    def _lines_in(self, hunk: ReviewedHunk) -> set[str]:
        """Those that it brought: of a text that took the place of something else, all."""
        text = self._seen(Path(hunk.path)) or ""
        all_of_it = hunk.after == digest_of(text.encode())
        return {line.rstrip("\r\n") for line in (text.splitlines() if all_of_it else hunk.texts)}

    def _taken_away(self) -> set[str]:
        """The lines that the review knows of, but for those that were given up with a keep: they can be had back."""
        found: set[str] = set()
        for file in self._files().values():
            texts = [file.text, *(change.text for change in (*file.changes, *file.absent))]
            texts += [file.gone.text if file.gone else None]
            texts += [each for done in file.decided for each in (done.over, done.change.text)]
            for text in texts:
                if text is not None:
                    found.update(text.base, text.current)
                    left = (each.hunk for each in text.away if each.state != "kept")
                    found.update(line for hunk in left for line in (*hunk.base, *hunk.texts))
        return {line.rstrip("\r\n") for line in found}

    def _note_typed(self, before: set[str]) -> None:
        """The user did something to files, in which these lines were `before`."""
        after = self._there()
        self.typed -= before - after
        self.typed |= {line for line in after if line.startswith("user")}

    def _forget_beside(self) -> None:
        """An agent has written."""
        self.typed -= self.beside - self._there() - self._taken_away()

    def _tree(self) -> dict[str, object]:
        """All that a user sees: kinds, modes, contents, and what is unsaved."""
        found: dict[str, object] = {}
        for path in sorted(self.desk.root.rglob("*")):
            name = str(path.relative_to(self.desk.root))
            if not name.startswith(".git"):
                mode = path.lstat().st_mode
                content = os.readlink(path) if stat.S_ISLNK(mode) else path.read_bytes() if stat.S_ISREG(mode) else ""
                found[name] = (mode, content)
        return found | {str(path): text for path, text in self.desk.editor.texts.items()}

    def _git(self) -> tuple[str, ...]:
        return tuple(self.desk.git(*each) for each in (["rev-parse", "HEAD"], ["ls-files", "-s"], ["stash", "list"]))

    def _in_git(self) -> set[str]:
        """The lines that the index has, or the commit that is checked out."""
        blobs = {line.split()[1] for line in self.desk.git("ls-files", "-s").splitlines()}
        blobs |= {line.split()[2] for line in self.desk.git("ls-tree", "-r", "HEAD").splitlines()}
        given = "".join(f"{blob}\n" for blob in sorted(blobs))
        return set(self.desk.git("cat-file", "--batch", given=given).splitlines()) if blobs else set()


def _ids(hunks: list[ReviewedHunk]) -> set[tuple[int, str, str]]:
    return {(each.id, each.digest, each.state) for each in hunks}

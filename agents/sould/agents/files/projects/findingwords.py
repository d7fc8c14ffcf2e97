"""What was found of a call, in sentences for its card and for the model: what is not known, and what it met. Looks at nothing."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from sould.agents.files.directories.directory import Directory
from sould.agents.files.projects.changes import WatchedFiles, named
from sould.agents.files.projects.othersessions import SessionNames, described
from sould.agents.files.reviewing.listing import ReviewedHunk

MOST_MET: Final = 5
"""Hunks of others that are named."""


class FindingWords(Struct):
    """Of one session, whose files are `files`; of the files in a directory `most` are looked at closely."""

    files: WatchedFiles
    session_id: str
    most: int
    names: SessionNames
    _said_unwatched: set[Path] = field(default_factory=set[Path])
    """Directories of which it was told that they are not looked at."""

    def of(
        self,
        directories: Mapping[Path, Directory],
        lost: Sequence[Path],
        guessed: Sequence[Path],
        unsure: Sequence[Path],
    ) -> str:
        """`lost`: what the files held is not known; `guessed`: whether the call changed them is not; `unsure`: the user may have."""
        said = self._of_directories(directories)
        if lost:
            said.append(f"Changed, and going back cannot restore it because it was not saved: {named(lost)}.")
        if guessed:
            said.append(
                "Changed before sould had looked at it, so that going back leaves it as it is, because it may have been "
                f"changed by others before: {named(guessed)}."
            )
        if unsure:
            said.append(
                "Changed while it ran, which took long enough that the user may have done it, so that going back leaves it as "
                f"it is: {named(unsure)}."
            )
        return " ".join(said)

    def _of_directories(self, directories: Mapping[Path, Directory]) -> list[str]:
        said: list[str] = []
        if gone := [root for root in directories if not root.is_dir()]:
            said.append(
                f"What it changed is not known, and going back cannot restore it, because this was moved: {named(gone)}."
            )
        unsaid = [each for each in self.files.unwatched if each not in self._said_unwatched]
        self._said_unwatched.update(unsaid)
        if unsaid:
            said.append(
                f"{named(unsaid)} is no project and is not watched: what commands change in it is not known, and going "
                "back cannot restore it."
            )
        if any(each.partial for each in directories.values()):
            said.append("Not all files of the project could be looked at, so not all that changed is known.")
        if any(each.beyond or each.changed_beyond for each in directories.values()):
            folders = [root / folder for root, each in directories.items() for folder in each.changed_beyond]
            found = f" It changed something in: {named(folders)}." if folders else ""
            said.append(f"Of the files beyond the first {self.most:,} only sizes and times are compared.{found}")
        return said

    def met(self, hunks: Collection[ReviewedHunk]) -> str:
        """Of hunks of other sessions that the call changed or ended; "" when there are none. Blocks."""
        if not hunks:
            return ""
        first = [f"{Path(each.path).name}, {described(each, self.session_id, self.names)}" for each in hunks][:MOST_MET]
        more = f"; and {len(hunks) - MOST_MET} more" if len(hunks) > MOST_MET else ""
        return f"This changed what other sessions' agents wrote and nobody reviewed yet: {'; '.join(first)}{more}."

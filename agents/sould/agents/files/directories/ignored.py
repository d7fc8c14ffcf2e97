"""What git passes over in a directory and in the git projects below it: asked for all once, then for new names alone.

Blocks: use it in a thread.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from sould.agents.base.filestamp import FileStamp
from sould.agents.files.directories.gitfiles import GitFiles


class Ignored(Struct):
    """Below `git.root`. `hidden` are directories that are passed over as if git did: our own."""

    git: GitFiles
    hidden: tuple[Path, ...] = ()
    _bases: dict[str, tuple[GitFiles, set[str]]] = field(default_factory=dict[str, tuple[GitFiles, set[str]]])
    """By directory, relative to the root: the git project there, and what it ignores; directories end in a slash."""
    _rules: dict[str, FileStamp] = field(default_factory=dict[str, FileStamp])
    """How the rules of these projects looked that are no files of theirs, as far as they were looked at."""

    def listed(self, at: Path, deadline: float) -> Collection[str] | None:
        """Everything ignored in the git project at `at`, the root or below it, relative to it; asked anew. None: see `GitFiles`."""
        root = self.git.root
        if at == root:
            self._bases.clear()
            self._rules.clear()
        git = self.git if at == root else self.git.at(at)
        base = "" if at == root else str(at.relative_to(root))
        rules = git.rules_found(deadline)
        if rules is not None:
            self._rules[base] = rules
        ignored = git.ignored(deadline)
        if ignored is None:
            return None
        own = {f"{path.relative_to(at)}/" for path in self.hidden if path != at and path.is_relative_to(at)}
        names = own | ignored
        self._bases[base] = (git, names)
        return names

    def names(self) -> Iterator[tuple[str, Collection[str]]]:
        """What is known by now: each git project relative to the root, and what it ignores."""
        return ((base, names) for base, (_, names) in self._bases.items())

    def restore(self, names: Mapping[str, Collection[str]]) -> None:
        """Know what another one knew."""
        self._bases = {base: (self._git_at(base), set(ignored)) for base, ignored in names.items()}
        self._rules.clear()

    def rules_moved(self) -> bool:
        """Other rules hold than when everything ignored was listed, of those that are no files of the project: nobody reports them."""
        now = {base: rules for base, (git, _) in self._bases.items() if (rules := git.rules) is not None}
        return any(self._rules.setdefault(base, rules) != rules for base, rules in now.items())

    def _git_at(self, base: str) -> GitFiles:
        return self.git.at(self.git.root / base) if base else self.git

    def among(self, paths: Mapping[str, bool], deadline: float) -> Collection[str] | None:
        """Those of the paths that are ignored; None: see `GitFiles`. `paths`: relative to the root, and whether each is a directory."""
        found: set[str] = set()
        asked: dict[str, dict[str, str]] = {}
        for path, directory in paths.items():
            base = self._base_of(path)
            _, names = self._bases[base]
            within = path[len(base) + 1 :] if base else path
            if f"{within}/" in names if directory else within in names:
                found.add(path)
            else:
                asked.setdefault(base, {})[within] = path
        for base, candidates in asked.items():
            git, names = self._bases[base]
            ignored = git.ignored_among(candidates, deadline)
            if ignored is None:
                return None
            for within in ignored:
                path = candidates[within]
                found.add(path)
                names.add(f"{within}/" if paths[path] else within)
        return found

    def _base_of(self, path: str) -> str:
        inside = (base for base in self._bases if not base or path.startswith(f"{base}/"))
        return max(inside, key=len, default="")

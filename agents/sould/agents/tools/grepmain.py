"""The search program for machines without ripgrep: run as a child, so that a pattern that never ends can be killed.

`python -I grepmain.py` reads one JSON request from standard input, searches below its working directory and writes the
records `match`, `context` and `end` of `rg --json`. Exit 0: something matched, 1: nothing did, 2: a bad request. It imports
nothing of ours, follows no link and opens nothing but regular files.
"""

import base64
import fnmatch
import json
import os
import re
import resource
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pathspec

MEMORY = 1024 * 1024 * 1024
CPU_SECONDS = 25
"""Ends a search whose parent was killed."""
MAX_FILE = 64 * 1024 * 1024
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
TYPES = {
    "c": ("c", "h"),
    "cpp": ("cpp", "cc", "cxx", "hpp", "hh", "hxx", "h", "inl"),
    "cs": ("cs",),
    "css": ("css", "scss"),
    "csv": ("csv",),
    "dart": ("dart",),
    "elixir": ("ex", "exs"),
    "go": ("go",),
    "haskell": ("hs", "lhs"),
    "html": ("html", "htm"),
    "java": ("java",),
    "js": ("js", "jsx", "mjs", "cjs", "vue"),
    "json": ("json",),
    "kotlin": ("kt", "kts"),
    "lua": ("lua",),
    "make": ("mk", "mak"),
    "markdown": ("md", "markdown", "mdx"),
    "md": ("md", "markdown", "mdx"),
    "php": ("php",),
    "py": ("py", "pyi"),
    "python": ("py", "pyi"),
    "rst": ("rst",),
    "ruby": ("rb",),
    "rust": ("rs",),
    "sh": ("sh", "bash", "zsh"),
    "sql": ("sql",),
    "swift": ("swift",),
    "toml": ("toml",),
    "ts": ("ts", "tsx", "mts", "cts"),
    "txt": ("txt",),
    "xml": ("xml",),
    "yaml": ("yaml", "yml"),
    "zig": ("zig",),
}

NOT_UTF_8 = re.compile("[\udc80-\udcff]")
"""What stands in a text for bytes that are none."""

MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

Rules = list[tuple[str, pathspec.GitIgnoreSpec]]
"""Ignore files that apply: the directory each belongs to, outermost first."""


class RequestError(Exception):
    """The request cannot be carried out; the text is for the model."""


def main() -> int:
    """Search; the exit code."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    request: dict[str, Any] = json.load(sys.stdin)
    try:
        pattern = compiled(request)
        files = selected(request)
    except RequestError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    search = search_text if request["multiline"] else search_lines
    any_match = any_skipped = False
    for name in files:
        text = content(name, request["codec"])
        try:
            any_match |= text is not None and emit(name, search(pattern, text, request))
        except MemoryError:
            any_skipped = True
    if any_skipped:
        sys.stderr.write("some files took more memory than a search may have\n")
        return 2
    return 0 if any_match else 1


def compiled(request: dict[str, Any]) -> re.Pattern[str]:
    """The pattern, with the meaning `rg` gives to the flags."""
    if request["not_utf_8"]:
        return NOT_UTF_8
    flags = re.IGNORECASE if request["ignore_case"] else re.NOFLAG
    if request["multiline"]:
        flags |= re.MULTILINE | re.DOTALL
    try:
        return re.compile(request["pattern"], flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise RequestError(f"regex parse error: {error}") from None


# --- which files ---------------------------------------------------------------------------------------------------------


def selected(request: dict[str, Any]) -> Iterator[str]:
    """The files to search, below the working directory, in order of their names."""
    wanted_type = request["type"]
    types = {**TYPES, wanted_type: (wanted_type,)} if request["by_ending"] else TYPES
    if wanted_type is not None and wanted_type not in types:
        raise RequestError(f"unrecognized file type: {wanted_type} (known: {', '.join(TYPES)})")
    suffixes = tuple(f".{ending}" for ending in types[wanted_type]) if wanted_type is not None else ()
    if request["files"]:
        return iter(request["files"])
    try:
        only, never = globs(request["globs"])
    except ValueError as error:
        raise RequestError(f"bad glob: {error}") from None
    names = walk(request["include_ignored"], never, PassedOver(request["passed_over"]))
    return (
        name for name in names if (not suffixes or name.endswith(suffixes)) and (only is None or only.match_file(name))
    )


def globs(given: list[str]) -> tuple[pathspec.GitIgnoreSpec | None, pathspec.GitIgnoreSpec]:
    """What a file must match (None: anything), and what hides files and directories."""
    only = [glob for glob in given if not glob.startswith("!")]
    never = [glob[1:] for glob in given if glob.startswith("!")]
    return pathspec.GitIgnoreSpec.from_lines(only) if only else None, pathspec.GitIgnoreSpec.from_lines(never)


class PassedOver:
    """Files that are not opened: globs of a name, or with a `/` of the end of a path, compared without case."""

    def __init__(self, globs: list[str]) -> None:
        self._names = any_of(glob for glob in globs if "/" not in glob)
        self._paths = any_of(f"*/{glob}" for glob in globs if "/" in glob)

    def has(self, name: str) -> bool:
        """Whether it is one of them, or a directory of them (with a slash at its end)."""
        path = f"/{name.casefold()}"
        return bool(self._names.fullmatch(path.rpartition("/")[2]) or self._paths.fullmatch(path))


def any_of(globs: Iterable[str]) -> re.Pattern[str]:
    """One pattern for all of them, for none if there are none."""
    return re.compile("|".join(map(fnmatch.translate, globs)) or r"(?!)")


def walk(include_ignored: bool, never: pathspec.GitIgnoreSpec, passed_over: PassedOver) -> Iterator[str]:
    """All files that no ignore file and no glob hides, and that are not passed over."""

    def hidden(name: str) -> bool:
        return never.match_file(name) or passed_over.has(name) or ignored(name, rules)

    rules = [] if include_ignored else rules_above()
    pending: list[tuple[str, Rules]] = [("", rules)]
    while pending:
        directory, rules = pending.pop()
        if not include_ignored:
            rules = rules_with(directory, rules)
        try:
            with os.scandir(directory or ".") as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        below: list[tuple[str, Rules]] = []
        for entry in listed:
            name = f"{directory}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if not hidden(f"{name}/"):
                    below.append((f"{name}/", rules))
            elif entry.is_file(follow_symlinks=False) and not hidden(name):
                yield name
        pending.extend(reversed(below))


def rules_above() -> Rules:
    """Ignore files of the directories above, up to the root of the repository; their names are relative to here."""
    here = os.getcwd()
    above: list[str] = []
    at = here
    while not os.path.lexists(os.path.join(at, ".git")):
        parent = os.path.dirname(at)
        if parent == at:
            return []
        above.append(parent)
        at = parent
    rules: Rules = []
    for directory in reversed(above):
        lines = ignore_lines(directory)
        if lines:
            rules.append((f"{os.path.relpath(here, directory)}/", pathspec.GitIgnoreSpec.from_lines(lines)))
    exclude = read_lines(os.path.join(at, ".git", "info", "exclude"))
    if exclude:
        prefix = "" if at == here else f"{os.path.relpath(here, at)}/"
        rules.insert(0, (prefix, pathspec.GitIgnoreSpec.from_lines(exclude)))
    return [("+" + prefix, spec) for prefix, spec in rules]


def rules_with(directory: str, rules: Rules) -> Rules:
    """`rules` and those of `directory` itself."""
    lines = ignore_lines(directory or ".")
    return [*rules, (directory, pathspec.GitIgnoreSpec.from_lines(lines))] if lines else rules


def ignore_lines(directory: str) -> list[str]:
    """The lines of all ignore files in one directory."""
    return [line for name in IGNORE_FILES for line in read_lines(os.path.join(directory, name))]


def read_lines(path: str) -> list[str]:
    """The lines of a small file; none when there is no such file."""
    text = content(path)
    return text.splitlines() if text is not None else []


def ignored(name: str, rules: Rules) -> bool:
    """The innermost file that says anything about `name` decides."""
    for directory, spec in reversed(rules):
        # A prefix with `+` belongs to a directory above: it is put before the name, others are taken off it.
        relative = directory[1:] + name if directory.startswith("+") else name.removeprefix(directory)
        verdict = spec.check_file(relative).include
        if verdict is not None:
            return verdict
    return False


def content(name: str, codec: str = "") -> str | None:
    """The text of a regular file; None for anything else, for binary and for huge files.

    Bytes that are not in UTF-8 stand in it as `surrogateescape` has them, or are read by the codec.
    """
    try:
        if not stat.S_ISREG(os.lstat(name).st_mode):
            return None
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            if os.fstat(fd).st_size > MAX_FILE:
                return None
            head = file.read(8192)
            codec = next((marked for mark, marked in MARKS.items() if head.startswith(mark)), codec)
            if b"\0" in head and not codec:
                return None
            data = head + file.read(MAX_FILE)
            if codec in MARKS.values():
                return data.decode(codec, errors="replace").removeprefix("\ufeff")
            return data.decode(codec, errors="replace") if codec else data.decode(errors="surrogateescape")
    except (OSError, MemoryError):
        return None


# --- searching -----------------------------------------------------------------------------------------------------------

Rows = list[tuple[int, str, int]]
"""Line number, text without its line end, number of matches that begin in it (-1: context)."""


def search_lines(pattern: re.Pattern[str], text: str, request: dict[str, Any]) -> Rows:
    """Each line by itself."""
    lines = split_lines(text)
    counts: dict[int, int] = {}
    for index, line in enumerate(lines):
        found = sum(1 for _ in pattern.finditer(line.removesuffix("\r")))
        if found:
            counts[index] = found
            if request["first_only"]:
                break
    return with_context(lines, counts, request)


def search_text(pattern: re.Pattern[str], text: str, request: dict[str, Any]) -> Rows:
    """Matches may span lines; every line a match touches is shown, the first of them counts it."""
    lines = split_lines(text.replace("\r\n", "\n"))
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    counts: dict[int, int] = {}
    touched: set[int] = set()
    line = 0
    for match in pattern.finditer("\n".join(lines)):
        while line + 1 < len(lines) and starts[line + 1] <= match.start():
            line += 1
        counts[line] = counts.get(line, 0) + 1
        last = line
        while last + 1 < len(lines) and starts[last + 1] < match.end():
            last += 1
            touched.add(last)
        if request["first_only"]:
            break
    return with_context(lines, {**dict.fromkeys(touched, 0), **counts}, request)


def split_lines(text: str) -> list[str]:
    """Lines as `rg` counts them: only LF ends one."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def with_context(lines: list[str], counts: dict[int, int], request: dict[str, Any]) -> Rows:
    """The lines of `counts` and those around them."""
    rows: set[int] = set()
    for index in counts:
        rows.update(range(max(0, index - request["before"]), min(len(lines), index + request["after"] + 1)))
    return [(index + 1, lines[index], counts.get(index, -1)) for index in sorted(rows)]


def emit(name: str, rows: Rows) -> bool:
    """Write the records of one file; whether it had any match."""
    matches = sum(count for _, _, count in rows if count > 0)
    if not matches:
        return False
    for number, text, count in rows:
        data: dict[str, Any] = {"path": {"text": name}, "lines": as_json(f"{text}\n"), "line_number": number}
        data["submatches"] = [{}] * max(count, 0)
        write({"type": "context" if count < 0 else "match", "data": data})
    write({"type": "end", "data": {"path": {"text": name}, "stats": {"matches": matches}}})
    sys.stdout.flush()
    return True


def as_json(text: str) -> dict[str, str]:
    """As `rg` has it: what is not in UTF-8 as bytes."""
    if NOT_UTF_8.search(text) is None:
        return {"text": text}
    return {"bytes": base64.b64encode(text.encode(errors="surrogateescape")).decode()}


def write(record: dict[str, Any]) -> None:
    """One line; names that are not Unicode are written with their escapes."""
    sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    sys.exit(main())

"""The commands that need no question: programs that only show things, with flags known to keep it so.

A list of what is known, never of what is forbidden: an unknown program, flag or count of operands is not harmless.
Programs that run others, write files, follow configuration or recurse into unnamed files are not here on purpose, nor are
flags that follow unnamed links, which may lead out of the project.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct

from sould.agents.permissions.shelltext import Argv


class _Safe(Struct, frozen=True):
    flags: str = ""
    """Single letters that take no value, or whose value is harmless as any text."""
    valued: str = ""
    """Letters that take a value: the rest of the word, or the next word."""
    names: frozenset[str] = frozenset()
    """Long flags, with or without a value; exactly, because GNU programs accept abbreviations of unlisted ones."""
    operands: int = 1_000
    reads: bool = True
    """Operands may name files, so each is judged like a file that is read."""
    builtin: bool = False
    """bash runs its own, whatever is on PATH."""
    digits: bool = False
    """`-5` is a count."""
    start: str = ""
    """What every operand must begin with."""


def _names(text: str) -> frozenset[str]:
    return frozenset(f"--{name}" for name in text.split())


_SUMS = _Safe("bt", names=_names("binary text tag"))

_PROGRAMS: Final[dict[str, _Safe]] = {
    "basename": _Safe("az", "s", _names("multiple suffix zero"), reads=False),
    "cat": _Safe("AbeEnstTuv", names=_names("number number-nonblank show-all show-ends show-tabs squeeze-blank")),
    "comm": _Safe("123z", names=_names("total zero-terminated")),
    "cut": _Safe("nsz", "bcdf", _names("bytes characters complement delimiter fields only-delimited output-delimiter")),
    "date": _Safe("IRu", "d", _names("date iso-8601 rfc-3339 rfc-email utc"), reads=False, start="+"),
    "df": _Safe("ahHiklPT", names=_names("all human-readable inodes local portability print-type")),
    "dirname": _Safe("z", names=_names("zero"), reads=False),
    "du": _Safe("abchHkmsSx0", "d", _names("all apparent-size bytes exclude human-readable max-depth summarize total")),
    "false": _Safe(reads=False, builtin=True),
    "file": _Safe("bhiL", names=_names("brief dereference mime mime-encoding mime-type no-dereference")),
    "grep": _Safe(
        "EFGPabcHhiLlnoqsTUvwxyZz",
        "ABCem",
        _names(
            """after-context before-context color colour context count extended-regexp files-with-matches
            files-without-match fixed-strings ignore-case invert-match line-number line-regexp max-count no-filename
            no-ignore-case no-messages only-matching perl-regexp quiet regexp silent text with-filename word-regexp"""
        ),
        digits=True,
    ),
    "groups": _Safe(operands=0, reads=False),
    "head": _Safe("qvz", "cn", _names("bytes lines quiet silent verbose"), digits=True),
    "hostname": _Safe("dfiIs", names=_names("all-fqdns fqdn ip-address short"), operands=0, reads=False),
    "id": _Safe("gGnruz", names=_names("group groups name real user zero"), reads=False),
    "ls": _Safe(
        "1AaBCcdFfGgHhiklmNnopQqRrSstuUvXxZ",
        "ITw",
        _names(
            """all almost-all classify color directory file-type full-time group-directories-first human-readable ignore
            inode no-group numeric-uid-gid recursive reverse size sort time time-style"""
        ),
    ),
    "md5sum": _SUMS,
    "nl": _Safe("p", "bdfhilnsvw", _names("body-numbering number-format number-width")),
    "nproc": _Safe(names=_names("all ignore"), operands=0, reads=False),
    "pwd": _Safe("LP", operands=0, reads=False, builtin=True),
    "readlink": _Safe("efmnqsvz", names=_names("canonicalize canonicalize-existing canonicalize-missing no-newline")),
    "realpath": _Safe("eLmPqsz", names=_names("canonicalize-existing canonicalize-missing relative-to relative-base")),
    "rev": _Safe(),
    "rg": _Safe(
        "0FHINPSUacilnopsvwx",
        "ABCeEjmMrtT",
        _names(
            """after-context before-context case-sensitive color column context count count-matches files
            files-with-matches files-without-match fixed-strings heading ignore-case invert-match json line-number
            line-regexp max-columns max-count max-depth multiline no-filename no-heading no-line-number null
            only-matching pcre2 pretty regexp smart-case sort sortr stats text threads trim type type-not vimgrep
            with-filename word-regexp"""
        ),
    ),
    "seq": _Safe("w", operands=3, reads=False, digits=True),
    "sha1sum": _SUMS,
    "sha256sum": _SUMS,
    "sha512sum": _SUMS,
    "sort": _Safe(
        "bCcdfghiMmnRrsuVz",
        "kt",
        _names(
            """check dictionary-order field-separator human-numeric-sort ignore-case ignore-leading-blanks key
            numeric-sort reverse stable unique version-sort"""
        ),
    ),
    "stat": _Safe("fLt", "c", _names("dereference file-system format printf terse")),
    "tac": _Safe("br", "s", _names("before regex separator")),
    "tail": _Safe("qvz", "cn", _names("bytes lines quiet silent verbose"), digits=True),
    "tr": _Safe("cCdst", names=_names("complement delete squeeze-repeats truncate-set1"), operands=2, reads=False),
    "tree": _Safe("aACDdFfghiNpQrSstux", "ILP", _names("dirsfirst du filelimit noreport prune si")),
    "true": _Safe(reads=False, builtin=True),
    "type": _Safe("afPpt", reads=False, builtin=True),
    "uname": _Safe("aimnoprsv", names=_names("all kernel-name kernel-release machine"), operands=0, reads=False),
    "uniq": _Safe("cDdiuz", "fsw", _names("count repeated unique ignore-case"), operands=1),
    "wc": _Safe("cLlmw", names=_names("bytes chars lines max-line-length words")),
    "which": _Safe("a", names=_names("all"), reads=False),
    "whoami": _Safe(operands=0, reads=False),
}


_HISTORY = _names(
    """abbrev-commit after all author before branches color committer date date-order decorate first-parent follow format
    graph grep invert-grep max-count merges name-only name-status no-abbrev-commit no-color no-decorate no-merges
    no-patch no-renames numstat oneline patch pretty regexp-ignore-case remotes reverse shortstat since skip stat
    summary tags topo-order unified until"""
)
_CHANGES = _names(
    """cached color color-words diff-filter find-copies find-renames function-context ignore-all-space
    ignore-blank-lines ignore-space-change merge-base minimal name-only name-status no-color no-renames no-patch numstat
    patch patience quiet raw shortstat staged stat summary unified word-diff"""
)
_GIT: Final[dict[str, _Safe]] = {
    "blame": _Safe("bcefnstw", "CLM", _names("color-by-age color-lines date porcelain show-email show-name since")),
    "branch": _Safe("aqrv", names=_names("all list no-color remotes show-current verbose"), operands=0, reads=False),
    "diff": _Safe("bMpRsuwz", "U", _CHANGES),
    "log": _Safe("bipsuwz", "GnSU", _HISTORY, digits=True),
    "ls-files": _Safe(
        "cdmostz", names=_names("cached deleted exclude-standard modified others stage unmerged"), reads=False
    ),
    "remote": _Safe(operands=0, reads=False),  # its URLs, which -v shows, may hold a token
    "rev-parse": _Safe(
        names=_names("abbrev-ref git-dir is-inside-work-tree short show-prefix show-toplevel verify"), reads=False
    ),
    "show": _Safe("bpsuwz", "U", _HISTORY | _CHANGES),
    "status": _Safe(
        "bsuz", names=_names("ahead-behind branch ignored long porcelain renames short untracked-files"), reads=False
    ),
    "tag": _Safe("ln", names=_names("list sort"), operands=0, reads=False),
}


_LETTERS_OF_CONTENTS: Final = frozenset("puUGS")


class Harmless(Struct, frozen=True):
    """A command that only shows. `files`: words to be judged as files that are read; `builtin`: PATH does not matter.

    `repository`: what it shows of a git repository, which must name no programs of its own.
    """

    files: tuple[str, ...]
    builtin: bool
    repository: Literal["nothing", "names", "contents"] = "nothing"
    history: bool = False
    """It may show what files held in the past, also those that are gone."""


_SMALL: Final = re.compile(r"-w|-?\d{1,5}")
"""What `seq` may be given: it prints for ever up to `inf`, and for long by steps of a fraction."""
SEARCHES: Final = frozenset({"rg"})
"""They look into files that nobody named: what they pass over by themselves, or because of a glob, must not be a secret."""


def harmless(argv: Argv) -> Harmless | None:
    """What the command reads, or None when it is not known to be harmless."""
    if argv[0] == "echo":
        return Harmless((), builtin=True)
    if argv[0] == "git":
        return _git(argv[1:])
    if argv[0] == "seq" and not all(map(_SMALL.fullmatch, argv[1:])):
        return None
    safe = _PROGRAMS.get(argv[0])
    split = _split(argv[1:], safe) if safe is not None else None
    if safe is None or split is None:
        return None
    operands, values = split
    if len(operands) > safe.operands or not all(operand.startswith(safe.start) for operand in operands):
        return None
    return Harmless((*operands, *values) if safe.reads else (), safe.builtin)


def _git(words: Argv) -> Harmless | None:
    """`git diff HEAD:a b`: the words, and what stands behind a colon in them, may be files of now or of back then."""
    if words[:1] == ("--no-pager",):
        words = words[1:]
    safe = _GIT.get(words[0]) if words else None
    split = _split(words[1:], safe) if safe is not None else None
    if safe is None or split is None:
        return None
    operands, values = split
    if len(operands) > safe.operands or any(word.startswith(":") or set(word) & set("*?[") for word in operands):
        return None
    named = (piece for word in (*operands, *values) for piece in {word, word.rpartition(":")[2]} if piece)
    if not safe.reads:
        return Harmless((), builtin=False, repository="names")
    return Harmless(tuple(named), builtin=False, repository="contents", history=_shows_the_past(words, operands))


def _shows_the_past(words: Argv, operands: list[str]) -> bool:
    """Not where git compares what is tracked now, nor where `log` says of commits no more than what they are named."""
    match words[0]:
        case "diff":
            return bool(operands) or not {"--cached", "--staged"}.isdisjoint(words)
        case "log":
            return any(_is_about_contents(word) for word in words[1:])
        case command:
            return command == "show"


def _is_about_contents(word: str) -> bool:
    if word.startswith("--"):
        return word.partition("=")[0] in ("--patch", "--unified")
    return word.startswith("-") and not _LETTERS_OF_CONTENTS.isdisjoint(word)


def _split(words: Argv, safe: _Safe) -> tuple[list[str], list[str]] | None:
    """Operands and values of flags; None when a flag is not listed, or a word could be a flag after all."""
    operands: list[str] = []
    values: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            operands.extend(rest)
            if any(operand.startswith("-") for operand in operands):
                return None
        elif word.startswith("--"):
            name, _, value = word.partition("=")
            if name not in safe.names:
                return None
            values.append(value)
        elif word.startswith("-") and word != "-":
            value = _letters(word[1:], safe, rest)
            if value is None:
                return None
            values.append(value)
        else:
            operands.append(word)
    return operands, [value for value in values if value]


def _letters(letters: str, safe: _Safe, rest: Iterator[str]) -> str | None:
    """The value that a word of single-letter flags brings, empty for none; None when a letter is not listed."""
    if safe.digits and letters.isdecimal():
        return ""
    for at, letter in enumerate(letters):
        if letter in safe.valued:
            value = letters[at + 1 :] or next(rest, "")
            return None if value.startswith("-") else value
        if letter not in safe.flags:
            return None
    return ""

"""Reading shell text: which simple commands will bash run? Strictly for permission, loosely for suspicion.

`read_strictly` answers only when the answer is certain: every word literal, nothing but `&& || ; |` and newlines between
the commands. Everything else is a problem, which means: ask. `read_loosely` never fails and may find commands that
bash would not run; it serves deny rules, which no complexity of the text may skip.
Neither runs, expands or looks up anything.
"""

import re
import sys
import unicodedata
from functools import lru_cache
from typing import Final

from msgspec import Struct

Argv = tuple[str, ...]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


MOST_BYTES: Final = 16 * 1024
MOST_COMMANDS: Final = 20

KEYWORDS: Final = _set(
    "! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until while"
)

RUNNERS: Final = _set(
    """. ansible at awk bash batch builtin busybox chroot command composer coproc crontab csh dash declare dbus-run-session
    doas docker emacs env eval exec expect fakeroot find fish flock gawk gdb git go hash ionice java kill ksh less let
    local ltrace make man mapfile mawk more nc nice node nohup npm npx parallel perl php pip pkexec podman printf
    proxychains python python3 read readarray readonly rlwrap rsync ruby run-parts script sed setarch setpriv setsid sh
    socat source ssh stdbuf strace su sudo systemd-run tar tee time timeout tmux trap tsc typeset unshare uv uvx
    valgrind vi vim watch xargs xterm yarn zip zsh"""
)
"""Programs that run other programs, evaluate text, or change what later words mean: never harmless by themselves."""

_SPECIAL: Final = {
    "\\": "a backslash",
    "*": "a glob",
    "?": "a glob",
    "[": "a bracket",
    "]": "a bracket",
    "{": "braces",
    "}": "braces",
    "~": "a tilde",
    "$": "an expansion",
    "`": "a command substitution",
    "!": "a history or negation mark",
    "<": "a redirection",
    ">": "a redirection",
    "(": "a subshell",
    ")": "a subshell",
    "&": "a background job",
}
_SPECIAL_IN_QUOTES: Final = {
    "\\": "a backslash",
    "$": "an expansion",
    "`": "a command substitution",
    "!": "a history mark",
}


class Reading(Struct, frozen=True):
    """`commands`: what bash will run, each word literal, and the operators between them. Empty when there is a `problem`."""

    commands: tuple[Argv, ...]
    operators: tuple[str, ...] = ()
    problem: str = ""


class _UnsureError(Exception):
    """The text holds something whose meaning is not literal."""


def read_strictly(text: str) -> Reading:
    """The simple commands of `text`, or the reason why they cannot be known for certain."""
    try:
        _check_characters(text)
        reader = _Strict(text)
        commands = reader.commands()
    except _UnsureError as unsure:
        return Reading((), problem=str(unsure))
    if not commands:
        return Reading((), problem="there is no command")
    if len(commands) > MOST_COMMANDS:
        return Reading((), problem=f"there are more than {MOST_COMMANDS} commands")
    return Reading(tuple(commands), tuple(reader.operators[: len(commands) - 1]))


def _check_characters(text: str) -> None:
    if len(text.encode("utf-8", errors="surrogatepass")) > MOST_BYTES:
        raise _UnsureError("the text is very long")
    for char in text:
        if char in "\n\t ":
            continue
        category = unicodedata.category(char)
        if category[0] in "CZ":  # control, format (bidi, zero width), surrogate, private, unassigned; foreign blanks
            raise _UnsureError(f"there is an invisible character (U+{ord(char):04X})")


class _Strict:
    """One pass over the text. `_word` is None between words, because an empty quoted word is a word."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._word: list[str] | None = None
        self._quoted = False
        self._argv: list[str] = []
        self._found: list[Argv] = []
        self._awaits = False
        """An operator was read that needs a command behind it."""
        self.operators: list[str] = []

    def commands(self) -> list[Argv]:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        self._end_command(required=self._awaits)
        return self._found

    def _step(self, char: str) -> None:
        if char in " \t":
            self._end_word()
            self._at += 1
        elif char == "\n":
            if self._argv or self._word is not None:
                self._end_command(required=True)
                self.operators.append(char)
            self._at += 1
        elif char in ";|&" and not (char == "&" and self._text[self._at : self._at + 2] != "&&"):
            self._operator(char)
        elif char == "'":
            self._add(self._quote("'"), quoted=True)
        elif char == '"':
            inner = self._quote('"')
            for special, name in _SPECIAL_IN_QUOTES.items():
                if special in inner:
                    raise _UnsureError(f"there is {name} inside double quotes")
            self._add(inner, quoted=True)
        elif char in _SPECIAL and not (char == "~" and self._is_within_name()):
            raise _UnsureError(f"there is {_SPECIAL[char]}")
        elif char == "#" and self._word is None:
            raise _UnsureError("there is a comment")
        else:
            self._add(char, quoted=False)
            self._at += 1

    def _is_within_name(self) -> bool:
        """Where bash takes a tilde for itself: `HEAD~1`, but neither `~` nor `a=~` nor `a:~`."""
        return self._word is not None and self._word[-1][-1:].isalnum()

    def _operator(self, char: str) -> None:
        double = self._text[self._at : self._at + 2] == char * 2
        if double and char == ";":
            raise _UnsureError("there is an empty command")
        self._end_command(required=True)
        self._awaits = char != ";"
        self.operators.append(char * 2 if double else char)
        self._at += 2 if double else 1

    def _quote(self, mark: str) -> str:
        end = self._text.find(mark, self._at + 1)
        if end < 0:
            raise _UnsureError("a quote is not closed")
        inner = self._text[self._at + 1 : end]
        self._at = end + 1
        return inner

    def _add(self, text: str, *, quoted: bool) -> None:
        if self._word is None:
            self._word, self._quoted = [], False
        self._word.append(text)
        self._quoted = self._quoted or quoted

    def _end_word(self) -> None:
        if self._word is None:
            return
        word = "".join(self._word)
        if not self._argv:
            if word in KEYWORDS and not self._quoted:
                raise _UnsureError(f"there is the shell keyword `{word}`")
            if "=" in word:
                raise _UnsureError("there is a variable assignment")
            if not word:
                raise _UnsureError("there is an empty command")
        self._argv.append(word)
        self._word = None

    def _end_command(self, *, required: bool) -> None:
        self._end_word()
        if self._argv:
            self._found.append(tuple(self._argv))
            self._argv = []
            self._awaits = False
        elif required:
            raise _UnsureError("an operator has no command")


# --- loosely: for suspicion only -------------------------------------------------------------------------------------------------

_BREAKS: Final = frozenset(";&|\n\r(){}`\u2028\u2029\x85")
_DEPTH: Final = 4


@lru_cache(maxsize=64)  # a judgement of one line asks several times, and each line is judged several times
def read_loosely(text: str, *, runners: bool = True) -> tuple[Argv, ...]:
    """Everything in `text` that might be run as a command.

    That is what stands between operators, in substitutions, in words that are text, and, unless `runners` is false,
    behind programs that run others.
    """
    found: dict[Argv, None] = {}
    pending = [(text, 0)]
    while pending:
        part, depth = pending.pop()
        for command in _loose_commands(part):
            argv = _without_prefixes(command)
            if not argv:
                continue
            found[argv] = None
            if depth < _DEPTH:
                pending.extend((word, depth + 1) for word in argv if word != part and looks_like_text(word))
            if runners and _basename(argv[0]) in RUNNERS:
                found.update(dict.fromkeys(argv[start:] for start in range(1, len(argv))))
    return tuple(found)


def words_of(text: str) -> tuple[str, ...]:
    """Every word that occurs in any reading of `text`, for comparison with paths."""
    words: dict[str, None] = {}
    for argv in read_loosely(text):
        words.update(dict.fromkeys(argv))
    return tuple(words)


def looks_like_text(word: str) -> bool:
    """Whether a word may be a text with commands of its own."""
    return any(char.isspace() or char in _BREAKS for char in word)


def _basename(word: str) -> str:
    return word.rpartition("/")[2]


def _without_prefixes(argv: list[str]) -> Argv:
    start = 0
    while start < len(argv) and (argv[start] in KEYWORDS or _is_assignment(argv[start])):
        start += 1
    return tuple(argv[start:])


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.rstrip("+").isidentifier()


def _loose_commands(text: str) -> list[list[str]]:
    commands: list[list[str]] = [[]]
    word: list[str] = []
    at, size = 0, len(text)

    def end_word() -> None:
        if word:
            commands[-1].append("".join(word))
            word.clear()

    while at < size:
        char = text[at]
        if char == "\\":
            word.append(text[at + 1 : at + 2].replace("\n", ""))
            at += 2
        elif char == "'" or text.startswith("$'", at):
            ansi = char == "$"
            inner, at = _loose_quote(text, at + ansi, escapes=ansi)
            word.append(inner)
        elif char == '"':
            inner, at = _loose_quote(text, at, escapes=False)
            word.append(inner)
            commands[0:0] = _substitutions(inner)
        elif char in _BREAKS:
            end_word()
            commands.append([])
            at += 1
        elif char.isspace() or char in "<>":
            end_word()
            at += 1
        else:
            if not (char == "$" and text[at + 1 : at + 2] in ("(", '"')):
                word.append(char)
            at += 1
    end_word()
    return [command for command in commands if command]


def _substitutions(quoted: str) -> list[list[str]]:
    if "$(" not in quoted and "`" not in quoted:
        return []
    return _loose_commands(quoted)


def _loose_quote(text: str, at: int, *, escapes: bool) -> tuple[str, int]:
    mark = text[at]
    end = at + 1
    while end < len(text) and text[end] != mark:
        end += 2 if text[end] == "\\" and (escapes or mark == '"') else 1
    inner = text[at + 1 : end]
    if escapes:
        inner = _ANSI_ESCAPE.sub(_ansi_character, inner).partition("\0")[0]  # bash ends such a word at a NUL
    elif mark == '"':
        inner = inner.replace("\\\n", "").replace('\\"', '"').replace("\\\\", "\\")
    return inner, end + 1


_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_SURROGATES = range(0xD800, 0xE000)
"""Of these no name of a file can be made."""
_ANSI_LETTERS = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))


def _ansi_character(escape: re.Match[str]) -> str:
    """What bash makes of an escape between `$'` and `'` (its manual: ANSI-C quoting); one that it does not know stays."""
    *hexadecimal, octal, letter = escape.groups()
    digits = next(filter(None, hexadecimal), "")
    if letter:
        return _ANSI_LETTERS.get(letter) or (letter if letter in "\\'\"?" else escape[0])
    number = int(digits, 16) if digits else int(octal, 8) & 0xFF
    return chr(number) if number <= sys.maxunicode and number not in _SURROGATES else escape[0]

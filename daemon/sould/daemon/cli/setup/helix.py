"""sould among the language servers in Helix's languages.toml: in the lists that are there, and in a block for other languages.

Helix has no list for all languages, and a list of the user's takes the place of Helix's own: so each language that gets
sould keeps the servers that Helix names for it. Lists are edited where they stand; each result is read again and compared.
"""

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from msgspec import Struct

from sould.daemon.cli.setup.entry import launched
from sould.daemon.cli.setup.format import Launch, Marks, UnfitError
from sould.daemon.cli.setup.jsonc import get

Servers: TypeAlias = Callable[[str], tuple[str, ...] | None]
"""The language servers that Helix has for a language; None: it does not know the language."""

LANGUAGES = (
    *(
        "bash",
        "c",
        "cpp",
        "css",
        "elixir",
        "go",
        "haskell",
        "html",
        "java",
        "javascript",
        "json",
        "jsx",
        "kotlin",
        "lua",
    ),
    *(
        "markdown",
        "nix",
        "ocaml",
        "php",
        "python",
        "ruby",
        "rust",
        "scala",
        "sql",
        "swift",
        "toml",
        "tsx",
        "typescript",
    ),
    *("vue", "yaml", "zig"),
)
"""Those that get sould where the user's file has no entry for them."""

_MARKS = Marks("# sould: written by `sould setup helix`, taken back by `sould setup helix --undo`", "# sould: end")
_HIDDEN = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|#[^\n]*", re.DOTALL)
_HEADER = re.compile(r"^[ \t]*\[+[ \t]*([\w.-]+)[ \t]*\]+[^\n]*(?:\n|\Z)", re.MULTILINE)
_LIST = re.compile(r"^[ \t]*language-servers[ \t]*=[ \t]*\[", re.MULTILINE)
_OURS = re.compile(r"""(,\s*)?(?:"sould"|'sould')(?(1)|[ \t]*,?[ \t]*)""")


class _Section(Struct, frozen=True):
    """A `[[language]]`, up to the next header; `opened` and `closed` are the brackets of its list, -1: it has none."""

    start: int
    opened: int
    closed: int


class Languages(Struct, frozen=True):
    """languages.toml."""

    program: str
    servers: Servers

    def added(self, text: str) -> str:
        """See `Format`."""
        present = self.launch(text)
        if present is not None and present.words == (self.program, "lsp"):
            return text
        if present is not None and not _MARKS.span(text):
            raise UnfitError("there is a language server named sould already, with another command")
        rest = _MARKS.without(text)
        mended = self._in_lists(rest, _languages(_parsed(rest)))
        known = {language.get("name") for language in _languages(_parsed(rest))}
        others = {name: has for name in LANGUAGES if name not in known and (has := self.servers(name)) is not None}
        if not others and mended == rest:
            raise UnfitError("it is not known which languages it has: the command `hx` was not found")
        newline = "\r\n" if "\r\n" in text else "\n"
        gap = "" if not mended or mended.endswith("\n") else newline
        result = f"{mended}{gap}{newline if mended.strip() else ''}{self._block(others).replace(chr(10), newline)}"
        self._compare(rest, result)
        return result

    def taken(self, before: str | None, after: str, text: str) -> str:
        """See `Format`."""
        del after
        _parsed(text)
        old = {language.get("name"): language for language in _languages(_parsed(before or ""))}
        rest = _MARKS.without(text)
        names = [language.get("name") for language in _languages(_parsed(rest))]
        for name, section in reversed(list(zip(names, _sections(rest, len(names)), strict=True))):
            if section.opened < 0 or "sould" in _named(old.get(name, {})):
                continue
            if name in old and "language-servers" not in old[name]:
                start = rest.rfind("\n", 0, section.opened) + 1
                end = rest.find("\n", section.closed)
                rest = rest[:start] + (rest[end + 1 :] if end >= 0 else "")
            else:
                items = _OURS.sub("", rest[section.opened : section.closed])
                rest = rest[: section.opened] + items + rest[section.closed :]
        return "" if before is None and not rest.strip() else rest

    def meaning(self, text: str) -> object:
        """See `Format`."""
        return _parsed(text)

    def launch(self, text: str) -> Launch | None:
        """See `Format`; None, too, where no language has it."""
        document = _parsed(text)
        server = get(document, ("language-server", "sould"))
        if not isinstance(server, dict) or not any("sould" in _named(each) for each in _languages(document)):
            return None
        return launched(server | {"env": server.get("environment", {})})

    def manual(self) -> str:
        """See `Format`."""
        return (
            self._server()
            + '\n[[language]]   # for each language, beside the servers it has\nname = "python"\nlanguage-servers = ["pylsp", "sould"]\n'
        )

    def _server(self) -> str:
        return f'[language-server.sould]\ncommand = {json.dumps(self.program, ensure_ascii=False)}\nargs = ["lsp"]\n'

    def _block(self, others: dict[str, tuple[str, ...]]) -> str:
        entries = (
            f'\n[[language]]\nname = "{name}"\nlanguage-servers = {json.dumps([*has, "sould"])}\n'
            for name, has in others.items()
        )
        return _MARKS.around(f"{self._server()}{''.join(entries)}")

    def _in_lists(self, text: str, languages: list[dict[str, Any]]) -> str:
        for language, section in reversed(list(zip(languages, _sections(text, len(languages)), strict=True))):
            if "sould" in _named(language):
                continue
            if section.opened >= 0:
                end = _last_item_end(text, section)
                text = f'{text[:end]}{"" if text[end - 1] == "[" else ", "}"sould"{text[end:]}'
            elif (has := self.servers(str(language.get("name", "")))) is not None:
                newline = "\r\n" if text[: section.start].endswith("\r\n") else "\n"
                line = f"language-servers = {json.dumps([*has, 'sould'])}{newline}"
                text = text[: section.start] + line + text[section.start :]
        return text

    def _compare(self, text: str, result: str) -> None:
        """Nothing may be different but what is ours."""
        if self.launch(result) is None or _parsed(self.taken(text, result, result)) != _parsed(text):
            raise UnfitError("its settings are written in a way that setup does not know")


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnfitError(f"its settings cannot be read: {error}") from None


def _languages(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = document.get("language", [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in cast("list[object]", found)):
        raise UnfitError("its settings are not as they should be: `language` is no list of tables")
    return cast("list[dict[str, Any]]", found)


def _named(language: dict[str, Any]) -> list[str]:
    """The servers of an entry; some are given as tables."""
    given: object = language.get("language-servers", [])
    listed = cast("list[object]", given) if isinstance(given, list) else []
    return [str(cast("dict[str, object]", each).get("name") if isinstance(each, dict) else each) for each in listed]


def _sections(text: str, count: int) -> list[_Section]:
    """The `count` entries in order."""
    plain = _HIDDEN.sub(lambda found: re.sub(r"[^\n]", "x", found[0]), text)
    headers = list(_HEADER.finditer(plain))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    found = [
        _section(plain, header.end(), end)
        for header, end in zip(headers, ends, strict=False)  # of none there is an end, too
        if header[0].lstrip().startswith("[[") and header[1] == "language"
    ]
    if len(found) != count:
        raise UnfitError("its settings are written in a way that setup does not know")
    return found


def _section(plain: str, start: int, end: int) -> _Section:
    listed = _LIST.search(plain, start, end)
    if listed is None:
        return _Section(start, -1, -1)
    depth = 1
    for at in range(listed.end(), end):
        depth += {"[": 1, "]": -1}.get(plain[at], 0)
        if not depth:
            return _Section(start, listed.end() - 1, at)
    raise UnfitError("its settings are written in a way that setup does not know")


def _last_item_end(text: str, section: _Section) -> int:
    """Behind the last item of a list, or behind its bracket."""
    inside = text[section.opened + 1 : section.closed]
    plain = re.sub(_HIDDEN, lambda found: (" " if found[0][0] == "#" else "x") * len(found[0]), inside)
    return section.opened + 1 + len(plain.rstrip(", \t\r\n"))

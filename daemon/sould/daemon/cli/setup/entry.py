"""The entry of sould in JSON settings: Zed, JetBrains, VS Code, Kate, Sublime Text. Edited where it stands (`jsonc`)."""

import shutil
from pathlib import Path
from typing import cast

from msgspec import Struct
from pydantic import JsonValue

from sould.daemon.cli.setup import jsonc
from sould.daemon.cli.setup.format import Launch, UnfitError
from sould.daemon.cli.setup.places import OUT


class SettingsEntry(Struct, frozen=True):
    """One member named `name` in the object at `container`."""

    container: tuple[str, ...]
    name: str
    value: dict[str, JsonValue]
    absolute: bool = False
    """The editor searches no PATH."""

    @property
    def path(self) -> tuple[str, ...]:
        """Where it is."""
        return (*self.container, self.name)

    def added(self, text: str) -> str:
        """See `Format`. An entry that is there keeps what it has beside the command; one that starts sould stays as it is."""
        there = jsonc.get(_parsed(text), self.path)
        if not isinstance(there, dict):
            return self._put(text, self.path, self.value)
        found = launched(there)
        if found is not None and self._starts(found):
            return text
        for name, value in self.value.items():
            if name != "env" or name not in there:
                text = self._put(text, (*self.path, name), value)
        return text

    def taken(self, before: str | None, after: str, text: str) -> str:
        """See `Format`."""
        earlier, present = _parsed(before or ""), _parsed(text)
        old, ours, now = (jsonc.get(each, self.path) for each in (earlier, _parsed(after), present))
        if not isinstance(now, dict):
            return text
        if isinstance(old, dict) and isinstance(ours, dict):
            return self._restored(text, before or "", old, ours, now)
        text = jsonc.restored(text, self.path, before or "")
        for length in range(len(self.container), 0, -1):
            outer = self.container[:length]
            if jsonc.get(earlier, outer) is None and jsonc.get(_parsed(text), outer) == {}:
                text = jsonc.remove(text, outer)
        return "" if before is None and "".join(text.split()) == "{}" else text

    def _restored(
        self, text: str, before: str, old: dict[str, JsonValue], ours: dict[str, JsonValue], now: dict[str, JsonValue]
    ) -> str:
        """An entry that was there before setup came: with its own values again, but for those that were changed since."""
        for name, value in ours.items():
            if now.get(name) != value or old.get(name) == value:
                continue
            text = jsonc.restored(text, (*self.path, name), before)
        return text

    def meaning(self, text: str) -> object:
        """See `Format`. An empty text says what an empty object does."""
        document = _parsed(text)
        return {} if document is None else document

    def launch(self, text: str) -> Launch | None:
        """See `Format`."""
        there = jsonc.get(_parsed(text), self.path)
        return started(there) if isinstance(there, dict) else None

    def manual(self) -> str:
        """See `Format`."""
        return jsonc.put("", self.path, self.value)

    def _starts(self, found: Launch) -> bool:
        """Whether that is sould, and can be started: by another path is as well."""
        wanted = launched(self.value)
        if wanted is None or len(found.words) != len(wanted.words):
            return False
        *out, program, frontend = found.words
        fits = (*out, frontend) == (*wanted.words[:-2], wanted.words[-1]) and Path(program).name == "sould"
        return fits and (not self.absolute or program.startswith("/")) and shutil.which(program) is not None

    def _put(self, text: str, path: tuple[str, ...], value: JsonValue) -> str:
        try:
            return jsonc.put(text, path, value)
        except ValueError as error:
            raise UnfitError(f"its settings are not as they should be: {error}") from None


def launched(entry: dict[str, JsonValue]) -> Launch | None:
    """What an entry starts, by its `command`, a list or with `args`, and its `env`; None: nothing."""
    command, arguments, environment = entry.get("command"), entry.get("args", []), entry.get("env", {})
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    if not words or not words[0] or not all(isinstance(word, str) for word in words):
        return None
    given = environment.items() if isinstance(environment, dict) else ()
    return Launch(tuple(cast("list[str]", words)), {name: value for name, value in given if isinstance(value, str)})


def started(entry: dict[str, JsonValue]) -> Launch | None:
    """What comes of that outside of the editor's sandbox, where it is tried out."""
    launch = launched(entry)
    inside = launch is not None and launch.words[: len(OUT)] == OUT
    return Launch(launch.words[len(OUT) :], launch.environment) if launch is not None and inside else launch


def _parsed(text: str) -> JsonValue:
    try:
        return jsonc.parse(text)
    except ValueError as error:
        raise UnfitError(f"its settings cannot be read: {error}") from None

"""One agent file as data, with the line of every key, so that a mistake is named where it was written.

Reads YAML and merges documents; what the keys mean is decided elsewhere (D31). Nothing here loads a tool.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, cast

import yaml
from msgspec import Struct, field

from sould.agents.base.errors import ConfigError
from sould.agents.base.filestamp import FileStamp, file_stamp, stamp_of
from sould.agents.base.regularfile import read_regular, read_text

KeyPath: TypeAlias = tuple[str | int, ...]

INHERIT = "inherit"
"""As a value: the same as leaving the key out. As an entry of a list: the parent's entries, at this place."""
MERGED = frozenset({"system_prompt_args", "subagents"})
"""Keys whose entries are merged by name; every other one is replaced whole."""
EMPTIED: dict[str, object] = {"subagents": {}, "exclude_tools": [], "tools": []}
"""What a key without a value means, where files of the reference use that."""
_DEEPEST = 20
_MOST_EVENTS = 5_000


class SpecDocument(Struct, frozen=True):
    """The `agent` mapping of one file, or of several merged. `places`: file and line of each key."""

    path: Path
    agent: dict[str, Any]
    places: Mapping[KeyPath, str] = field(default_factory=dict[KeyPath, str])
    files: tuple[Path, ...] = ()
    """Every file it was made from, its own first."""

    def place(self, *key: str | int) -> str:
        """File and line of the key, or of what holds it."""
        for length in range(len(key), -1, -1):
            found = self.places.get(key[:length])
            if found is not None:
                return found
        return str(self.path)

    def error(self, message: str, *key: str | int) -> ConfigError:
        """A mistake at `key`, worded for the user."""
        name = ".".join(map(str, key))
        return ConfigError(f"{self.place(*key)}: {f'{name}: ' if name else ''}{message}")


def read_document(path: Path) -> SpecDocument:
    """Read one file of `version: 1` with an `agent` mapping; one that has not changed is not read again.

    Raises:
        ConfigError: naming the file, and the line where that is known.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise ConfigError(f"{path}: the agent file cannot be read: {error.strerror}.") from error
    found = _read_once(path, stamp_of(status))
    if isinstance(found, ConfigError):
        raise ConfigError(found.message)  # not the one that is kept: each raising adds to its traceback
    return found


LARGEST = 256 * 1024
"""Bytes of an agent file."""


@lru_cache(maxsize=64)  # a session looks at its agent's files before each turn, and parsing them takes milliseconds
def _read_once(path: Path, _: FileStamp) -> SpecDocument | ConfigError:
    try:
        return _read(path)
    except ConfigError as error:
        return error


def _read(path: Path) -> SpecDocument:
    try:
        text = read_text(path, LARGEST)
        _check_size(text, path)
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        raw: object = None if root is None else loader.construct_document(root)  # pyright: ignore[reportUnknownMemberType] -- PyYAML is half typed
    except OSError as error:
        raise ConfigError(f"{path}: the agent file cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: the agent file is not UTF-8 text.") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise ConfigError(f"{path}:{line}: {error.problem or error.context}.") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:  # of a number, a date or a depth that the library stumbles over
        raise ConfigError(f"{path}: the agent file cannot be read: {error}.") from error
    places: dict[KeyPath, str] = {}
    if root is not None:
        _note_places(root, (), path, places)
    return _checked(path, raw, places)


def merged(parent: SpecDocument, child: SpecDocument) -> SpecDocument:
    """`child` over `parent`: an absent key or `inherit` is the parent's value (D31)."""
    agent, places = dict(parent.agent), dict(parent.places)

    def take(key: KeyPath) -> None:
        for known in [known for known in places if known[: len(key)] == key]:
            del places[known]
        places.update({known: place for known, place in child.places.items() if known[: len(key)] == key})

    for key, value in child.agent.items():
        if value == INHERIT or (value is None and key not in EMPTIED):
            continue
        if key in MERGED and isinstance(value, dict) and isinstance(agent.get(key), dict):
            entries = {name: entry for name, entry in cast("dict[str, Any]", value).items() if entry != INHERIT}
            agent[key] = {**agent[key], **entries}
            for name in entries:
                take((key, name))
        else:
            agent[key] = EMPTIED.get(key) if value is None else value
            take((key,))
            if isinstance(value, list):
                agent[key] = _spliced(key, cast("list[object]", value), parent, child, places)
    places[()] = child.place()
    return SpecDocument(child.path, agent, places, (*child.files, *parent.files))


def _spliced(
    key: str, value: list[object], parent: SpecDocument, child: SpecDocument, places: dict[KeyPath, str]
) -> list[object]:
    """The list with the parent's entries where it says `inherit`, but those it names itself; each with its place."""
    entries: list[object] = []
    own = [_named(entry) for entry in value]
    for index, entry in enumerate(value):
        inherited = enumerate(cast("list[object]", parent.agent.get(key) or []))
        theirs = [(at, each) for at, each in inherited if _named(each) not in own]
        source, taken = (parent, theirs) if entry == INHERIT else (child, [(index, entry)])
        for at, each in taken:
            found = {known: place for known, place in source.places.items() if known[:2] == (key, at)}
            places.update({(key, len(entries), *known[2:]): place for known, place in found.items()})
            entries.append(each)
    return entries


def _named(entry: object) -> object:
    return cast("dict[str, object]", entry).get("tool") if isinstance(entry, dict) else entry


def stamps(files: Iterable[Path]) -> tuple[object, ...]:
    """What the disk says of the files without reading them; changes when one of them is written."""
    return tuple(map(file_stamp, files))


def digests(files: Iterable[Path]) -> Mapping[Path, str]:
    """The content of each file as a digest; a missing one counts as empty."""
    return {path: _digest(path) for path in files}


def fingerprint(files: Iterable[Path]) -> str:
    """One digest of all of them, wherever they lie; "" for none."""
    found = sorted((path.name, _digest(path)) for path in files)
    return hashlib.sha256(repr(found).encode(errors="replace")).hexdigest() if found else ""


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(read_regular(path)).hexdigest()
    except OSError:
        return ""


def _check_size(text: str, path: Path) -> None:
    """Look at what a text would become before anything of it is built: aliases of aliases are endless.

    Raises:
        ConfigError: it has an alias, or too many values.
        yaml.YAMLError: it is not YAML.
    """
    events: Iterator[yaml.Event] = yaml.parse(text, Loader=yaml.SafeLoader)  # pyright: ignore[reportUnknownMemberType] -- PyYAML is half typed
    for number, event in enumerate(events):
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1 if event.start_mark is not None else 1
            raise ConfigError(f"{path}:{line}: an agent file has no aliases (`*name`): write the value out.")
        if number > _MOST_EVENTS:
            raise ConfigError(f"{path}: the agent file has too many values.")


def _checked(path: Path, raw: object, places: dict[KeyPath, str]) -> SpecDocument:
    whole = SpecDocument(path, {}, places)
    if not isinstance(raw, dict):
        raise whole.error("an agent file is a mapping with `version: 1` and `agent`.")
    fields = cast("dict[str, Any]", raw)
    if fields.get("version") != 1:
        raise whole.error("must be 1.", "version")
    unknown = next((key for key in fields if key not in ("version", "agent")), None)
    if unknown is not None:
        raise whole.error("is not a key of an agent file; its keys are `version` and `agent`.", unknown)
    agent = fields.get("agent")
    if not isinstance(agent, dict) or not all(isinstance(key, str) for key in cast("dict[Any, Any]", agent)):
        raise whole.error("must be a mapping.", "agent")
    own = {key[1:]: place for key, place in places.items() if key[:1] == ("agent",)}
    return SpecDocument(path, cast("dict[str, Any]", agent), own, (path,))


def _note_places(node: yaml.Node, key: KeyPath, path: Path, places: dict[KeyPath, str]) -> None:
    places.setdefault(key, f"{path}:{node.start_mark.line + 1}")
    if len(key) > _DEEPEST:
        return
    if isinstance(node, yaml.MappingNode):
        for name, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            if isinstance(name, yaml.ScalarNode):
                inner = (*key, str(name.value))
                places[inner] = f"{path}:{name.start_mark.line + 1}"
                _note_places(value, inner, path, places)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(cast("list[yaml.Node]", node.value)):
            _note_places(item, (*key, index), path, places)

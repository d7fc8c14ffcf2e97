"""Reading the configuration: which file, what it says, and what is wrong with it, by line.

It imports nothing heavy and touches no network, no keyring and no project file. A mistake is a `ConfigFileError` that
names the key, the file, the line and the nearest valid key; the value itself is never repeated, it may be a secret.
"""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, cast, get_args, get_origin

from msgspec import Struct
from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from sould.agents.base.config import NOT_USED, Config
from sould.agents.base.errors import ConfigError
from sould.agents.base.file_ownership import why_not_own
from sould.agents.base.regularfile import read_text
from sould.agents.llm.registry import TYPES, VENDORS, public_types
from sould.agents.soul.hooks.events import EVENTS
from sould.daemon.configuration.configfile import config_path
from sould.daemon.configuration.configlines import Place, json_lines, json_object, toml_lines
from sould.daemon.paths import Paths

_SCRIPTS_VARIABLE = "KIMI_SCRIPTED_ECHO_SCRIPTS"
_WORDS = {
    "int_": "it must be a whole number",
    "float_": "it must be a number",
    "bool_": "it must be true or false",
    "string_type": "it must be text in quotes",
    "tuple_": "it must be an array",
    "list_": "it must be an array",
    "dict_": "it must be a table",
    "model_": "it must be a table",
}
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")


class ConfigFileError(ConfigError):
    """A mistake in a configuration. `line` is 0 where there is none; `nearest` is empty where nothing is near."""

    def __init__(self, message: str, *, key: str = "", file: str = "", line: int = 0, nearest: str = "") -> None:
        super().__init__(message)
        self.key = key
        self.file = file
        self.line = line
        self.nearest = nearest


class Loaded(Struct, frozen=True):
    """A configuration, where it came from and what should be said about it once."""

    config: Config
    sources: tuple[Path, ...] = ()
    """The files it was read from; empty: everything is a default."""
    notices: tuple[str, ...] = ()


def load(
    paths: Paths,
    environment: Mapping[str, str],
    *,
    file: str | None = None,
    text: str | None = None,
    directory: Path | None = None,
    overrides: Mapping[str, object] | None = None,
) -> Loaded:
    """Read the configuration. `text` (`--config`) stands in for the file, with paths seen from `directory`.

    `overrides` (dotted keys, from options) win over both.

    Raises:
        ConfigFileError: the file that was asked for is missing, cannot be read, may be changed by others, or holds a mistake.
    """
    path = config_path(paths, environment, file)
    if text is not None:
        given = _Document.parse(text, "--config", "{" if text.lstrip().startswith("{") else "")
        return _parsed(given, None, directory, overrides or {})
    try:
        content = read_text(path)
    except FileNotFoundError:
        if file or environment.get("SOULD_CONFIG"):
            named = "" if file else " (SOULD_CONFIG names it)"
            raise ConfigFileError(f"The configuration file {path}{named} does not exist.", file=str(path)) from None
        return _parsed(_Document({}, {}, "the options"), None, None, overrides or {})
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigFileError(f"The configuration file {path} cannot be read: {error}", file=str(path)) from error
    if problem := why_not_own(path):
        raise ConfigFileError(problem, file=str(path))
    document = _Document.parse(content, str(path), "{" if path.suffix == ".json" else "")
    return _parsed(document, path, path.parent, overrides or {})


class _Document(Struct, frozen=True):
    values: dict[str, Any]
    lines: Mapping[Place, int]
    name: str

    @classmethod
    def parse(cls, text: str, name: str, form: str) -> "_Document":
        try:
            if form == "{":
                return cls(json_object(text), json_lines(text), name)
            return cls(tomllib.loads(text), toml_lines(text), name)
        except tomllib.TOMLDecodeError as error:
            found = _AT_LINE.search(str(error))
            line = int(found[1]) if found else text.count("\n") + 1
            what = _AT_LINE.sub("", str(error)).strip()
            if what == r"Illegal character '\n'":
                what = "unclosed string"
            raise ConfigFileError(f"{name}, line {line}: this is not TOML: {what}.", file=name, line=line) from None
        except ValueError as error:
            line = getattr(error, "lineno", 1)
            raise ConfigFileError(f"{name}, line {line}: this is not JSON: {error}.", file=name, line=line) from None

    def line_of(self, place: Place) -> int:
        """The line of a key, or of the nearest thing around it."""
        for end in range(len(place), 0, -1):
            line = self.lines.get(place[:end])
            if line:
                return line
        return 0

    def error(self, place: Place, problem: str, nearest: str = "") -> ConfigFileError:
        """A mistake at a place."""
        line = self.line_of(place)
        key = ".".join(str(part) for part in place)
        where = f"{self.name}, line {line}" if line else self.name
        hint = f"; did you mean {nearest!r}?" if nearest else "."
        return ConfigFileError(f"{where}: {problem}{hint}", key=key, file=self.name, line=line, nearest=nearest)


def _parsed(document: _Document, path: Path | None, directory: Path | None, overrides: Mapping[str, object]) -> Loaded:
    config = _validated(document)
    _check_references(config, document)
    if overrides:
        options = _Document(_with_overrides(config.model_dump(), overrides), {}, "the options")
        config = _validated(options)
        _check_references(config, options)
    if directory is not None:
        config = _with_absolute_scripts(config, directory)
    return Loaded(
        config, (path,) if path else (), (*_unused(document), *_idle(config, document), *_loose(config, path))
    )


def _validated(document: _Document) -> Config:
    try:
        return Config.model_validate(document.values)
    except ValidationError as error:
        raise _all_described(error.errors(include_url=False, include_input=False), document) from None


def _all_described(errors: list[ErrorDetails], document: _Document) -> ConfigFileError:
    """All mistakes in one error, a line each; what it says of key and line is the first one's.

    Unknown keys come first: a misspelt one explains why the right one is missing.
    """
    unknown = [_described(error, document) for error in errors if error["type"] == "extra_forbidden"]
    meant = {(*error.key.split(".")[:-1], error.nearest) for error in unknown if error.nearest}
    others = [
        _described(error, document)
        for error in errors
        if error["type"] != "extra_forbidden"
        and not (error["type"] == "missing" and tuple(map(str, error["loc"])) in meant)
    ]
    found = [*sorted(unknown, key=attrgetter("line")), *sorted(others, key=attrgetter("line"))]
    first = found[0]
    message = "\n".join(error.message for error in found)
    return ConfigFileError(message, key=first.key, file=first.file, line=first.line, nearest=first.nearest)


def _described(error: ErrorDetails, document: _Document) -> ConfigFileError:
    place = tuple(error["loc"])
    name = str(place[-1]) if place else ""
    table = ".".join(str(part) for part in place[:-1])
    inside = f" in [{table}]" if table else ""
    valid = valid_keys(place[:-1])
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, valid, 3, 0.5)
        nearest = min(near, key=lambda each: sorted(each) != sorted(name), default="")  # letters in another order first
        hint = "" if nearest or not valid else f" (there are: {', '.join(sorted(valid))})"
        if len(place) > 1 and name in Config.model_fields:
            return document.error(place, f"{name!r} does not belong{inside}: it must stand above the first table")
        return document.error(place, f"unknown key {name!r}{inside}{hint}", nearest)
    if error["type"] == "missing":
        return document.error(place, f"the key {name!r} is missing{inside}")
    return document.error(place, f"the value of {name!r}{inside} is wrong: {_wrong(error)}")


def _wrong(error: ErrorDetails) -> str:
    """What pydantic says, in words that fit the file. What is meant for tests is not offered."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "literal_error":
        choices = [word for word in re.findall(r"'([^']*)'", str(context.get("expected"))) if word[:1] != "_"]
        return f"it must be one of {', '.join(choices)}"
    for beginning, words in _WORDS.items():
        if kind.startswith(beginning):
            return words
    text = error["msg"].removeprefix("Value error, ").replace("Input should be", "it must be")
    return f"{text[:1].lower()}{text[1:]}"


def valid_keys(place: Place) -> list[str]:
    """The keys a table may hold."""
    kind: Any = Config
    for part in place:
        kind = _inner(kind, part)
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return []
    return list(kind.model_fields)


def _inner(kind: Any, part: str | int) -> Any:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field_info = kind.model_fields.get(str(part))
        return _bare(field_info.annotation) if field_info else None
    arguments = get_args(kind)
    origin = get_origin(kind)
    if origin is dict:
        return _bare(arguments[1])
    return _bare(arguments[0]) if origin in (tuple, list) else None


def _bare(annotation: Any) -> Any:
    """`X | None` is X."""
    options = [option for option in get_args(annotation) if option is not type(None)]
    return options[0] if len(options) == 1 and type(None) in get_args(annotation) else annotation


def _check_references(config: Config, document: _Document) -> None:
    for name, provider in config.providers.items():
        if provider.type and provider.type not in TYPES:
            near = next(iter(difflib.get_close_matches(provider.type, public_types(), 1)), "")
            said = f"there is no type {provider.type!r}; it must be one of {', '.join(public_types())}"
            raise document.error(("providers", name, "type"), said, near)
        if provider.vendor and provider.vendor not in VENDORS:
            near = next(iter(difflib.get_close_matches(provider.vendor, VENDORS, 1, 0.5)), "")
            raise document.error(("providers", name, "vendor"), f"there is no vendor {provider.vendor!r}", near)
    for key, model in config.models.items():
        if model.provider not in config.providers and model.provider not in VENDORS:
            near = next(iter(difflib.get_close_matches(model.provider, (*config.providers, *VENDORS), 1, 0.5)), "")
            raise document.error(
                ("models", key, "provider"),
                f"model {key!r} names an undefined provider {model.provider!r}",
                near,
            )
    default = config.default_model
    # a key with a slash names a model found in the environment, which no file can list
    if default and config.models and default not in config.models and "/" not in default:
        near = next(iter(difflib.get_close_matches(default, config.models, 1, 0.5)), "")
        raise document.error(("default_model",), f"default_model is {default!r}, which is not among the models", near)


def _with_overrides(values: dict[str, Any], overrides: Mapping[str, object]) -> dict[str, Any]:
    merged = dict(values)
    for dotted, value in overrides.items():
        table = merged
        *path, last = dotted.split(".")
        for part in path:
            inner = table.get(part)
            copied: dict[str, Any] = dict(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else {}
            table[part] = copied
            table = copied
        table[last] = value
    return merged


def _with_absolute_scripts(config: Config, directory: Path) -> Config:
    """A script file is named relative to the file that names it, not to wherever the daemon runs."""
    providers = dict(config.providers)
    for name, provider in config.providers.items():
        scripts = provider.env.get(_SCRIPTS_VARIABLE)
        if scripts is not None:
            absolute = directory.absolute() / Path(scripts.get_secret_value()).expanduser()
            env = provider.env | {_SCRIPTS_VARIABLE: SecretStr(str(absolute))}
            providers[name] = provider.model_copy(update={"env": env})
    return config.model_copy(update={"providers": providers})


def _unused(document: _Document) -> tuple[str, ...]:
    present = [key for key in sorted(NOT_USED) if _has(document.values, key)]
    return (f"{document.name}: accepted but not used: {', '.join(present)}.",) if present else ()


def _idle(config: Config, document: _Document) -> Iterator[str]:
    """Hooks that could never run; they are no errors, because a file may be written for another program, too."""
    for number, hook in enumerate(config.hooks, 1):
        reason = ""
        if hook.event not in EVENTS:
            near = difflib.get_close_matches(hook.event, EVENTS, 1)
            reason = f"there is no event {hook.event!r}{f' (is it {near[0]}?)' if near else ''}"
        else:
            try:
                re.compile(hook.matcher)
            except re.error as error:
                reason = f"its matcher {hook.matcher[:80]!r} is not a valid regular expression: {error}"
        if reason:
            yield f"{document.name}: hook {number} never runs: {reason}."


def _has(values: dict[str, Any], dotted: str) -> bool:
    here: Any = values
    for part in dotted.split("."):
        if not isinstance(here, dict) or part not in here:
            return False
        here = cast("dict[str, Any]", here)[part]
    return True


def _loose(config: Config, path: Path | None) -> tuple[str, ...]:
    holds_key = any(provider.api_key.get_secret_value() for provider in config.providers.values())
    if path is None or not holds_key or not path.stat().st_mode & 0o077:
        return ()
    return (f"{path} holds a key and others may read it; run: chmod 600 {path}",)

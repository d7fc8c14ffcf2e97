"""Values of declared classes out of JSON and back, for the command line, which has no time for pydantic.

A class says its fields as `agents.values.dataclass` does; what may stand in them are the types that JSON has, tuples,
dictionaries, `Literal`, unions, and other such classes. Keys that a class does not know are left out, so that programs
of two versions can talk.
"""

import json
from typing import Any, Literal, Self, Union, cast, get_args, get_origin

from sould.agents.values import MISSING, asdict, fields

WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}


class NotAsDeclaredError(ValueError):
    """The text is a sentence that names the field."""


class JsonValues:
    """Base of the classes."""

    __slots__ = ()

    @classmethod
    def read(cls, given: object, where: str = "") -> Self:
        """Make one of a JSON object. Raises NotAsDeclaredError."""
        if not isinstance(given, dict):
            raise NotAsDeclaredError(f"{where or 'the message'} must be an object")
        known = cast("dict[str, object]", given)
        values: dict[str, object] = {}
        for each in fields(cast("Any", cls)):
            place = f"{where}.{each.name}" if where else each.name
            if each.name in known:
                values[each.name] = _read(each.type, known[each.name], place)
            elif each.default is MISSING and each.default_factory is MISSING:
                raise NotAsDeclaredError(f"{place} is required")
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """What `read` reads."""
        return asdict(cast("Any", self))

    def to_text(self, indent: int | None = None) -> str:
        """The same as text, in lines where an indentation is given."""
        return json.dumps(self.to_json(), ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))


def _read(declared: Any, given: object, where: str) -> object:
    origin, arguments = get_origin(declared), get_args(declared)
    if declared is Any:
        return given
    if origin is Literal:
        return _expect(given in arguments, given, where, f"one of {', '.join(map(repr, arguments))}")
    if origin is Union or (origin is not None and origin.__name__ == "UnionType"):
        return _read_one_of(arguments, given, where)
    if origin is tuple:
        return _read_several(arguments, given, where)
    if origin is dict:
        return _expect(isinstance(given, dict), given, where, "an object")
    if isinstance(declared, type) and issubclass(declared, JsonValues):
        return declared.read(given, where)
    if declared is float and type(given) is int:
        return float(given)
    return _expect(type(given) is declared, given, where, WORDS[declared])


def _read_one_of(declared: tuple[Any, ...], given: object, where: str) -> object:
    """The first that fits; the others are `None`."""
    if given is None and type(None) in declared:
        return None
    return _read(next(each for each in declared if each is not type(None)), given, where)


def _read_several(declared: tuple[Any, ...], given: object, where: str) -> object:
    """As many as come, or one for each of the declared."""
    _expect(isinstance(given, (list, tuple)), given, where, "a list")
    items = cast("list[object]", given)
    kinds = (declared[0],) * len(items) if declared[1:] == (Ellipsis,) else declared
    _expect(len(kinds) == len(items), given, where, f"a list of {len(kinds)}")
    return tuple(_read(kind, item, f"{where}.{at}") for at, (kind, item) in enumerate(zip(kinds, items, strict=True)))


def _expect(holds: bool, given: object, where: str, what: str) -> object:
    if not holds:
        raise NotAsDeclaredError(f"{where} must be {what}")
    return given

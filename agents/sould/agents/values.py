"""`dataclass`, as the standard library has it, at a twelfth of the time that defining a class takes there.

Hundreds of them are defined before the first session opens, and the standard library compiles up to six methods for
each. Here `__init__` is compiled when the first object is made, and the others need no compiler. To a type checker it
is the standard library's: that a frozen one is not assigned to is proven there, and nothing guards it at run time.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING
from dataclasses import asdict as asdict
from dataclasses import field as field
from dataclasses import fields as fields
from dataclasses import replace as replace
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        eq: bool = True,
        weakref_slot: bool = False,
    ) -> type | Callable[[type], type]:
        """The standard library's; these are the parameters in use here."""

        def defined(given: type) -> type:
            return _defined(given, frozen=frozen, slots=slots, eq=eq, weakref_slot=weakref_slot)

        return defined if cls is None else defined(cls)


def _defined(cls: type[Any], *, frozen: bool, slots: bool, eq: bool, weakref_slot: bool) -> type[Any]:
    own = {name for name, value in vars(cls).items() if value is not None}
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # else the signature would be read and put into words
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, weakref_slot=weakref_slot)(cls)
    methods: dict[str, Any] = {"__init__": _compiling_init(cls), "__repr__": _repr}
    if eq and "__eq__" not in own:
        methods["__eq__"], by_values = _comparing(cls)
        methods["__hash__"] = by_values if frozen else None
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    return cls


def _compiling_init(cls: type[Any]) -> Callable[..., None]:
    """An `__init__` that puts the real one in its place."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made = _init(cls)
        cls.__init__ = made
        made(self, *args, **kwargs)

    return init


def _init(cls: type[Any]) -> Callable[..., None]:
    known: dict[str, Any] = {"_missing": MISSING}
    positional, by_name = ["self"], ["*"]
    body: list[str] = []
    for each in fields(cls):
        name, parameter, value = each.name, each.name, each.name
        if each.default_factory is not MISSING:
            known[f"_new_{name}"] = each.default_factory
            parameter, value = f"{name}=_missing", f"_new_{name}()"
            value = f"{value} if {name} is _missing else {name}" if each.init else value
        elif each.default is not MISSING:
            known[f"_default_{name}"] = each.default
            parameter = f"{name}=_default_{name}"
            value = name if each.init else f"_default_{name}"
        elif not each.init:
            continue
        if each.init:
            (by_name if each.kw_only else positional).append(parameter)
        body.append(f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    parameters = ", ".join(positional + by_name[len(by_name) == 1 :])
    exec(f"def __init__({parameters}):\n" + ("\n".join(body) or " pass"), known)  # noqa: S102 -- names of fields only
    return known["__init__"]


def _comparing(cls: type[Any]) -> tuple[Callable[[Any, object], Any], Callable[[Any], int]]:
    """Equality, and the hash that goes with it."""
    names = [each.name for each in fields(cls) if each.compare]
    values: Callable[[object], object] = attrgetter(*names) if names else _nothing

    def is_equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return is_equal, hashed


def _nothing(_: object) -> None:
    """What is compared of objects without fields."""


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"

"""Values of declared classes out of JSON and back, for the command line, which has no time for pydantic.

Keys that a class does not know are left out, so that programs of two versions can talk.
"""

from typing import Any, Self

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.json import encode, format  # noqa: A004 -- its name there


class NotAsDeclaredError(ValueError):
    """The text is a sentence that names the field."""


class JsonValues(Struct, frozen=True):
    """Base of the classes."""

    @classmethod
    def read(cls, given: object) -> Self:
        """Make one of a JSON object. Raises NotAsDeclaredError."""
        try:
            return convert(given, cls)
        except ValidationError as error:
            raise NotAsDeclaredError(str(error)) from None

    def to_json(self) -> dict[str, Any]:
        """What `read` reads."""
        return to_builtins(self)

    def to_text(self, indent: int | None = None) -> str:
        """The same as text, in lines where an indentation is given."""
        text = encode(self)
        return (format(text, indent=indent) if indent else text).decode()

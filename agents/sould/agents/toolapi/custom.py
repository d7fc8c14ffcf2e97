"""Messages of a tool's own, to clients that know them (D35): kept with the session, never shown to the model.

A message is named `vendor/what`, so that no two makers mean different things by one name. Nothing here publishes.
"""

from typing import Any, ClassVar, Final

import orjson
from pydantic import ConfigDict

from sould.agents.base.parsed import Parsed
from sould.agents.wire.messages import Custom

MOST: Final = 64 * 1024
"""Bytes of the data of one message."""


class CustomMessage(Parsed):
    """What is sent under a name, as a type: `class Coverage(CustomMessage, name="acme/coverage")`.

    Raises TypeError when the name is not of the form `vendor/what`.
    """

    model_config = ConfigDict(extra="forbid")

    custom_name: ClassVar[str]

    def __init_subclass__(cls, *, name: str, **more: Any) -> None:
        super().__init_subclass__(**more)
        try:
            cls.custom_name = Custom(name=name).name
        except ValueError as error:
            raise TypeError(f"{name!r} is not a valid message name; write vendor/what, in lower case") from error


def as_custom(message: CustomMessage | Custom) -> Custom:
    """What goes into the stream.

    Raises:
        ValueError: its data is too large, or no JSON.
    """
    if isinstance(message, CustomMessage):
        message = Custom(name=message.custom_name, data=message.model_dump(mode="json"))
    if len(orjson.dumps(message.data)) > MOST:
        raise ValueError(f"the message {message.name} has more than {MOST} bytes of data")
    return message

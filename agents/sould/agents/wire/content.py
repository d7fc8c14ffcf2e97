"""Content parts: what users and models say, in the shapes Wire and the model context share."""

from typing import Annotated, Literal, TypeAlias
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Part(BaseModel):
    """Base of all content parts: frozen, unknown keys ignored."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")


class Origin(Part):
    """What a part of a prompt was where it was written: something attached or named there, not typed. Ours.

    `resource` came with its contents, `resource_link` only by name, `image` as a picture of a place. The model does not
    see it: what it needs to know stands in the part.
    """

    type: Literal["resource", "resource_link", "image"]
    uri: str
    name: str = ""
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None

    @property
    def label(self) -> str:
        """What people call it."""
        return self.name or unquote(self.uri.rstrip("/").rsplit("/", 1)[-1]) or self.uri


def _absent(value: object) -> bool:
    return value is None


Attached: TypeAlias = Annotated[Origin | None, Field(exclude_if=_absent)]
"""Nothing is written of parts that were typed or generated, which are nearly all."""


class TextPart(Part):
    """Visible text. While streaming, one part is one delta."""

    type: Literal["text"] = "text"
    text: str
    origin: Attached = None


class ThinkPart(Part):
    """Reasoning. `encrypted` is the provider's opaque form; parts that carry it are never merged (D35)."""

    type: Literal["think"] = "think"
    think: str
    encrypted: str | None = None


class MediaUrl(Part):
    """A `data:` or `https:` URL; `id` is the provider's handle, if any."""

    url: str
    id: str | None = None


class ImagePart(Part):
    """An image in a message."""

    type: Literal["image_url"] = "image_url"
    image_url: MediaUrl
    origin: Attached = None


class AudioPart(Part):
    """Audio in a message."""

    type: Literal["audio_url"] = "audio_url"
    audio_url: MediaUrl


class VideoPart(Part):
    """Video in a message."""

    type: Literal["video_url"] = "video_url"
    video_url: MediaUrl


ContentPart: TypeAlias = Annotated[
    TextPart | ThinkPart | ImagePart | AudioPart | VideoPart, Field(discriminator="type")
]

UserInput: TypeAlias = str | tuple[ContentPart, ...]
"""What a person sends: plain text, or parts in order."""


class FunctionCall(Part):
    """Name and JSON-encoded arguments of a call; `arguments` is null until the first fragment arrives."""

    name: str
    arguments: str | None = None


Extras: TypeAlias = dict[str, JsonValue] | None


def media_url(part: ContentPart) -> str | None:
    """The URL of an image, audio or video; None for text and reasoning."""
    match part:
        case ImagePart():
            return part.image_url.url
        case AudioPart():
            return part.audio_url.url
        case VideoPart():
            return part.video_url.url
        case _:
            return None


def input_text(user_input: UserInput) -> str:
    """The text of an input, media left out; parts are joined by newlines."""
    if isinstance(user_input, str):
        return user_input
    return "\n".join(part.text for part in user_input if isinstance(part, TextPart))


def typed_text(user_input: UserInput) -> str:
    """The text of an input as far as it was typed: what commands, and answers to questions, are read from.

    Editors put the open file before or behind it by themselves.
    """
    if isinstance(user_input, str):
        return user_input
    return "\n".join(part.text for part in user_input if isinstance(part, TextPart) and part.origin is None)


def attached_text(user_input: UserInput) -> str:
    """The rest of the text of an input: what was attached to it or named in it, as the model is told of it."""
    if isinstance(user_input, str):
        return ""
    return "\n".join(part.text for part in user_input if isinstance(part, TextPart) and part.origin is not None)


def input_summary(user_input: UserInput) -> str:
    """An input as people see it: what was typed, and what was attached by its name."""
    if isinstance(user_input, str):
        return user_input
    return " ".join(_summary(part) for part in user_input).strip()


def _summary(part: ContentPart) -> str:
    origin = part.origin if isinstance(part, TextPart | ImagePart) else None
    if origin is not None:
        return origin.label
    return part.text if isinstance(part, TextPart) else ""

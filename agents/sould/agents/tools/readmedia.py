"""ReadMediaFile: an image or video of the project, given to a model that can see.

Size and pixels are limited by what the file says of itself, before anybody decodes it; we never do.
"""

import asyncio
import base64
from typing import ClassVar, Final

from pydantic import Field, JsonValue

from sould.agents.llm.pictures import HEAD, MediaHead, read_head
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.toolapi.session import ModelCapabilities
from sould.agents.wire.content import ImagePart, MediaUrl, VideoPart
from sould.agents.wire.messages import ToolKind, ToolReturn

MAX_BYTES: Final = 100 * 1024 * 1024
MAX_SIDE: Final = 16_384
MAX_PIXELS: Final = 64_000_000


class Params(ToolParams):
    """What to look at."""

    path: str = Field(min_length=1, description="The file, relative to the working directory or absolute.")


class ReadMediaFile(Tool[Params]):
    """Show an image or video to the model."""

    name = "ReadMediaFile"
    title = "View an image"
    kind: ClassVar[ToolKind] = "read"
    example: ClassVar[dict[str, JsonValue]] = {"path": "docs/screenshot.png"}
    params = Params

    def __init__(self, files: CallFiles, senses: ModelCapabilities) -> None:
        self._files = files
        self._senses = senses

    def view(self, params: Params) -> CallView:
        """`View docs/screenshot.png`."""
        title, locations = self._files.paths.named(params.path)
        return CallView(title=f"View {title}", locations=locations)

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Ask when the rules say so, judge the beginning, then read."""
        path = self._files.paths.meant(params.path)
        name = self._files.paths.shown(path.path)
        head = read_head(await self._files.read_bytes(path, HEAD))
        if problem := _unusable(head) or self._unseen(head):
            return tool_error(f"{name} {problem}", brief="Not shown")
        data = await self._files.read_bytes(path, MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            return tool_error(f"{name} is larger than {MAX_BYTES // 1024**2} MB.", brief="Too large")
        if head is None or read_head(data[:HEAD]) != head:
            return tool_error(f"{name} changed while it was read; try again.", brief="Changed")
        return await asyncio.to_thread(_shown_to_model, name, head, data)

    def _unseen(self, head: MediaHead | None) -> str:
        """What the model cannot see, to follow the file's name; "" when it can."""
        if head is None or f"{head.kind}_in" in self._senses.capabilities():
            return ""
        return (
            f"is {'a video' if head.kind == 'video' else 'an image'}, which this model cannot see; say so to the user."
        )


def _unusable(head: MediaHead | None) -> str:
    """What is in the way, to follow the file's name; "" when nothing is."""
    if head is None:
        return (
            "is not a PNG, JPEG, GIF or WebP image or an MP4, QuickTime or WebM video; text (SVG too) is for ReadFile."
        )
    if head.kind == "image" and not (head.width and head.height):
        return "has no pixels."
    if max(head.width, head.height) > MAX_SIDE or head.width * head.height > MAX_PIXELS:
        return (
            f"would be {head.width}x{head.height} pixels; the limits are {MAX_SIDE} a side and {MAX_PIXELS // 10**6} "
            "million in all. Make a smaller copy and look at that."
        )
    return ""


def _shown_to_model(name: str, head: MediaHead, data: bytes) -> ToolReturn:
    url = MediaUrl(url=f"data:{head.mime};base64,{base64.b64encode(data).decode()}")
    size = f"{head.width}x{head.height} pixels, " if head.width else ""
    part = ImagePart(image_url=url) if head.kind == "image" else VideoPart(video_url=url)
    return tool_ok((part,), message=f"{name}: {head.mime}, {size}{len(data)} bytes.")

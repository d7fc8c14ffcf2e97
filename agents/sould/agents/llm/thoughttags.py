"""Thoughts that a model writes into its text, between `<think>` and `</think>` at the very beginning of an answer.

MiniMax, QwQ and others do, under servers that do not take them out. A tag may be split between two pieces.
"""

from collections.abc import Iterator

from sould.agents.wire.content import TextPart, ThinkPart

_OPEN, _CLOSE = "<think>", "</think>"


class ThoughtTags:
    """Reads text until the answer proper begins; after that it is not needed."""

    __slots__ = ("_after", "_begun", "_held", "_thinking")

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._begun = False
        """A thought was shown."""
        self._after = False
        """Thinking has ended; white space before the answer is dropped."""

    def read(self, text: str) -> Iterator[TextPart | ThinkPart]:
        """What the text so far is certain to be, without white space around thoughts."""
        self._held += text.lstrip() if self._after and not self._held else text
        if not self._thinking:
            begun = self._held.lstrip()
            if _OPEN.startswith(begun[: len(_OPEN)]) and len(begun) < len(_OPEN):
                return  # it may become the tag
            if not begun.startswith(_OPEN):
                yield from self.close()
                return
            self._thinking, self._begun, self._held = True, False, begun[len(_OPEN) :]
        yield from self._thoughts()

    def _thoughts(self) -> Iterator[TextPart | ThinkPart]:
        if not self._begun:
            self._held = self._held.lstrip("\n")
        thoughts, tag, answer = self._held.partition(_CLOSE)
        if tag:
            if thoughts.rstrip("\n"):
                yield ThinkPart(think=thoughts.rstrip("\n"))
            self._thinking, self._after, self._held = False, True, ""
            if answer := answer.lstrip():
                yield TextPart(text=answer)
            return
        end = _split(thoughts)
        if end:
            self._begun = True
            yield ThinkPart(think=thoughts[:end])
            self._held = thoughts[end:]

    def close(self) -> Iterator[TextPart | ThinkPart]:
        """There is no more text before what comes now."""
        if self._held:
            yield ThinkPart(think=self._held) if self._thinking else TextPart(text=self._held)
        self._held = ""


def _split(text: str) -> int:
    """How many characters are certainly thought: all but line ends and a possible start of `</think>` at the end."""
    at = text.rfind("<")
    end = at if at >= 0 and _CLOSE.startswith(text[at:]) else len(text)
    return len(text[:end].rstrip("\n"))

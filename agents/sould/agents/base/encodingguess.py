"""Guesses which encoding bytes are in. A child program does it: what it compares with takes 37 MB, and the bytes are anybody's."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

PROGRAM: Final = Path(__file__).with_name("encodingmain.py")
LONGEST: Final = 20.0
"""Seconds for all samples of one call."""


class Guess(Struct, frozen=True):
    """`codec`, as Python calls it, is "" for what is no text and where nobody could tell; `confidence` is between 0 and 1."""

    codec: str = ""
    confidence: float = 0.0


_GUESSES: Final = msgspec.json.Decoder(list[Guess])


def guesses(samples: Sequence[bytes]) -> list[Guess]:
    """One for each sample, which holds bytes beyond ASCII. Blocks for a tenth of a second, and a millisecond for each."""
    import subprocess  # noqa: PLC0415 -- commands that look at a review start without it

    try:
        ran = subprocess.run(
            [sys.executable, "-I", "-X", "utf8", str(PROGRAM)],
            input=msgspec.json.encode([sample.decode("latin-1") for sample in samples]),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            timeout=LONGEST,
            check=False,
        )
        return _GUESSES.decode(ran.stdout)
    except (OSError, subprocess.TimeoutExpired, msgspec.DecodeError):
        return [Guess()] * len(samples)

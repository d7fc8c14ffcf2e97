"""The program that guesses encodings: run as a child, so that what it needs goes with it, and no bytes can hold the daemon.

`python -I encodingmain.py` reads a JSON list of texts that stand for bytes (Latin-1) and writes one of `{codec, confidence}`. It
imports nothing of ours and opens nothing.
"""

import json
import resource
import sys

import chardet

CPU_SECONDS = 20
"""Ends a program whose parent was killed."""


def main() -> None:
    """Only what files are written in today: encodings of old computers read every text as some other."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    samples: list[str] = json.load(sys.stdin)
    found = [
        chardet.detect(
            sample.encode("latin-1"),
            encoding_era=chardet.EncodingEra.MODERN_WEB,
            prefer_superset=True,
            compat_names=False,
        )
        for sample in samples
    ]
    json.dump([{"codec": each["encoding"] or "", "confidence": each["confidence"]} for each in found], sys.stdout)


if __name__ == "__main__":
    main()

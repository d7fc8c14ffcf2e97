"""Which encoding a text's bytes are in, so that a file is read, edited and written back in its own.

UTF-8 is certain, and so is UTF-16 by its mark or its zeros. Then counts what the file says itself, as XML, HTML, CSS and Python
do. Everything else is a guess (`guesses`), and counts only where the text gives the very same bytes again. A guess blocks for
a tenth of a second: call what may need one in a thread.
"""

import codecs
import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

# Guesses which encoding bytes are in. A child program does it: what it compares with takes 37 MB, and the bytes are
# anybody's.


GUESSING_PROGRAM: Final = Path(__file__).with_name("encodingmain.py")
LONGEST_GUESS: Final = 20.0
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
            [sys.executable, "-I", "-X", "utf8", str(GUESSING_PROGRAM)],
            input=msgspec.json.encode([sample.decode("latin-1") for sample in samples]),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            timeout=LONGEST_GUESS,
            check=False,
        )
        return _GUESSES.decode(ran.stdout)
    except (OSError, subprocess.TimeoutExpired, msgspec.DecodeError):
        return [Guess()] * len(samples)


class Encoding(Struct, frozen=True):
    """`name` is what iconv and editors call it, `codec` what Python does.

    `certain`: false where too little beyond ASCII was there to tell it from others.
    """

    name: str
    codec: str
    certain: bool = True


class EncodedText(Struct, frozen=True):
    """A text, and the encoding that its bytes are in."""

    text: str
    encoding: Encoding


class NoTextError(ValueError):
    """The bytes are no text, or nobody can tell which; the text goes on behind the file's name: "is no text ..."."""


class NoBytesError(ValueError):
    """A character has no bytes in the encoding; the text says which, and how to go on."""


UTF_8: Final = Encoding("UTF-8", "utf-8")
LEAST_CONFIDENCE: Final = 0.05
"""Of a guess that is certain. Of texts with one to six comments in 17 languages one in a hundred is guessed wrong for certain."""
MOST_SAMPLE: Final = 64 * 1024
"""Bytes that a guess is made from."""
_HEAD: Final = 1024
"""Bytes that show what kind of file it is."""
_ZEROS: Final = 0.7
"""Least share of characters below U+0100 by which UTF-16 is known without its mark."""
_BROKEN: Final = 4
"""So many times more characters than wrong bytes are what a damaged UTF-8 text has, and hardly any other."""
_HIGH: Final = bytes(range(128, 256))
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_MIXED: Final = re.compile(r"(?<=[A-Za-z])[\u0370-\u0fff]+|[\u0370-\u0fff]+(?=[A-Za-z])")
_MARKS: Final = (
    (b"\xff\xfe\x00\x00", Encoding("UTF-32LE", "utf-32-le")),
    (b"\x00\x00\xfe\xff", Encoding("UTF-32BE", "utf-32-be")),
    (b"\xff\xfe", Encoding("UTF-16LE", "utf-16-le")),
    (b"\xfe\xff", Encoding("UTF-16BE", "utf-16-be")),
)
"""Longer ones first: one is the beginning of another. The mark stays in the text, as that of UTF-8 does."""
_WINDOWS: Final = {f"cp{number}": (Encoding(f"Windows-{number}", f"cp{number}"),) for number in range(1250, 1259)}
_READINGS: Final = {
    **_WINDOWS,
    "gb18030": (Encoding("GBK", "gbk"), Encoding("GB18030", "gb18030")),
    "big5hkscs": (Encoding("Big5", "big5"), Encoding("CP950", "cp950"), Encoding("Big5-HKSCS", "big5hkscs")),
    "cp932": (Encoding("Shift_JIS", "cp932"),),
    "shift_jis_2004": (Encoding("Shift_JIS", "cp932"), Encoding("Shift_JISX0213", "shift_jisx0213")),
    "euc_jis_2004": (Encoding("EUC-JP", "euc_jp"), Encoding("EUC-JISX0213", "euc_jisx0213")),
    "euc_kr": (Encoding("EUC-KR", "euc_kr"), Encoding("CP949", "cp949")),
    "cp949": (Encoding("EUC-KR", "euc_kr"), Encoding("CP949", "cp949")),
    "koi8-r": (Encoding("KOI8-R", "koi8-r"),),
    "koi8-u": (Encoding("KOI8-U", "koi8-u"),),
    "cp874": (Encoding("CP874", "cp874"),),
    "tis-620": (Encoding("CP874", "cp874"),),
}
"""What a guess may mean, the encoding with the fewest characters first: all programs that know it can read what is added."""
_ISO_8859: Final = {
    number: Encoding(f"ISO-8859-{number}", f"iso8859-{number}") for number in (*range(1, 12), *range(13, 17))
}
_OF_ASCII: Final = frozenset((*_ISO_8859.values(), *(each for some in _READINGS.values() for each in some)))
"""What a file may be in that says so itself: ASCII has its own bytes there."""
_ENCODINGS: Final = _OF_ASCII.union(each for _, each in _MARKS)
"""What a file may be in that an editor shows."""
_LIKE_WINDOWS: Final = {"cp1250": _ISO_8859[2], "cp1252": _ISO_8859[15], "cp1253": _ISO_8859[7]}
"""What no guess tells from an encoding of Windows: letters stand where that has signs."""
_DECLARATION: Final = re.compile(
    rb"""\A\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([\w.:-]+)
    | \A(?:[^\n]*\n)?[ \t\f]*\#[^\n]*?coding[:=][ \t]*([\w.-]+)
    | <meta\b[^>]*?\bcharset\s*=\s*["']?\s*([\w.:-]+)
    | \A@charset\s+"([\w.:-]+)\"""",
    re.VERBOSE | re.IGNORECASE,
)
"""XML 1.0 section 4.3.3, PEP 263, HTML's `meta charset`, CSS Syntax section 3.2."""
_DECLARABLE: Final = {codecs.lookup(each.codec).name: each for each in _OF_ASCII} | {
    "gb2312": Encoding("GBK", "gbk"),
    "shift_jis": Encoding("Shift_JIS", "cp932"),
}
(_USUAL,) = _WINDOWS["cp1252"]
"""What is in single bytes that read the same in another, or make no sense there."""


def decoded(data: bytes, earlier: Encoding | None = None) -> EncodedText:
    """The text; `earlier`: the encoding that the file was in when it was read last.

    Raises:
        NoTextError: it is no text, or cannot be told.
    """
    certain = certainly_decoded(data)
    if certain is not None:
        return certain
    if b"\0" in data:
        raise NoTextError("is not a text file (it holds NUL bytes)")
    _require_no_damaged_utf_8(data)
    if earlier is not None and earlier.certain and (text := _read_in(earlier, data)) is not None:
        return EncodedText(text, earlier)
    return _as_declared(data) or _guessed(data)


def certainly_decoded(data: bytes) -> EncodedText | None:
    """The text, where its encoding needs no guess: UTF-8, and UTF-16 by its mark or its zeros. Does not block."""
    if b"\0" not in data:
        try:
            return EncodedText(data.decode(), UTF_8)
        except UnicodeDecodeError:
            return _by_mark(data)
    return _by_mark(data) or _by_zeros(data)


def may_be_shown_as(data: bytes, text: str) -> bool:
    """Whether an editor shows this text that has read these bytes: in any encoding, or in UTF-8, which they are not. Does not guess."""
    if text.encode(errors="surrogatepass") == data:
        return True
    certain = certainly_decoded(data)
    if certain is not None and certain.encoding == UTF_8:
        return False
    return data.decode(errors="replace") == text or any(_has_bytes(text, each, data) for each in _ENCODINGS)


def _has_bytes(text: str, encoding: Encoding, data: bytes) -> bool:
    """`data` with or without a mark, which editors do not show."""
    mark = next((mark for mark, marked in _MARKS if marked == encoding and data.startswith(mark)), b"")
    try:
        return mark + text.removeprefix("\ufeff").encode(encoding.codec) == data
    except UnicodeEncodeError:
        return False


def likely(samples: Sequence[bytes]) -> list[Encoding | None]:
    """Which encoding the texts are probably in that these lines are from; None: no guess, or lines that are no text there."""
    found = guesses([sample[:MOST_SAMPLE] for sample in samples])
    read = [_as_guessed(guess, sample, sample) for guess, sample in zip(found, samples, strict=True)]
    return [each.encoding if each is not None else None for each in read]


def encoded(text: str, encoding: Encoding, before: str) -> bytes:
    """The bytes of a text that takes the place of `before`.

    Raises:
        NoBytesError: it has a character that the encoding lacks, or that must not be put into what is only probably that encoding.
    """
    try:
        data = text.encode(encoding.codec)
    except UnicodeEncodeError as error:
        raise NoBytesError(_lacking(text[error.start], encoding)) from None
    if not encoding.certain and (new := sorted({char for char in text if not char.isascii()} - set(before))):
        raise NoBytesError(
            f"its encoding cannot be told for certain ({encoding.name} is likely), so only ASCII can be added to it, and not "
            f"{new[0]!r} (U+{ord(new[0]):04X}); use an escape, or ask the user whether it may become UTF-8 "
            f"(`iconv -f {encoding.name} -t UTF-8`)"
        )
    return data


def _lacking(char: str, encoding: Encoding) -> str:
    if encoding == UTF_8:
        return f"the new text is not valid Unicode (U+{ord(char):04X})"
    return (
        f"it is in {encoding.name}, which has no {char!r} (U+{ord(char):04X}); use another character, or ask the user whether "
        f"it may become UTF-8 (`iconv -f {encoding.name} -t UTF-8`)"
    )


def _by_mark(data: bytes) -> EncodedText | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _read_in(encoding, data)
            return EncodedText(text, encoding) if text is not None else None
    return None


def _by_zeros(data: bytes) -> EncodedText | None:
    """UTF-16 without a mark: of most characters one byte is zero, always the same one."""
    first, second = data[::2].count(0), data[1::2].count(0)
    if len(data) % 2 or min(first, second) or max(first, second) < len(data) // 2 * _ZEROS:
        return None
    encoding = Encoding("UTF-16LE", "utf-16-le") if second else Encoding("UTF-16BE", "utf-16-be")
    text = _read_in(encoding, data)
    return EncodedText(text, encoding) if text is not None else None


def _require_no_damaged_utf_8(data: bytes) -> None:
    """Its characters would be read as two or three of another encoding."""
    readable = len(data.decode(errors="ignore"))
    wrong = len(data.decode(errors="surrogateescape")) - readable
    beyond_ascii = readable - len(data.translate(None, _HIGH))
    if beyond_ascii > _BROKEN * wrong:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise NoTextError(
                f"is UTF-8 text but for {wrong} byte{'' if wrong == 1 else 's'}, the first in line {line}; look at it with a "
                "command (`iconv -c -f UTF-8 -t UTF-8` leaves such bytes out), and ask the user whether they may be removed"
            ) from None


def _as_declared(data: bytes) -> EncodedText | None:
    """The text as the file itself says that it is encoded, where that is so."""
    found = _DECLARATION.search(data[:_HEAD])
    if found is None:
        return None
    try:
        declared = _DECLARABLE.get(codecs.lookup(next(filter(None, found.groups())).decode()).name)
    except LookupError:
        return None
    text = _read_in(declared, data) if declared is not None else None
    return EncodedText(text, declared) if declared is not None and text is not None else None


def _guessed(data: bytes) -> EncodedText:
    lines = sample(data)
    head, guess = guesses([data[:_HEAD], lines])
    meant = _READINGS.get(guess.codec, ())
    if not head.codec or not meant:
        raise NoTextError("is not a text file, or in an encoding that cannot be told")
    read = _as_guessed(guess, data, lines)
    if read is None:
        raise NoTextError(
            f"is not UTF-8 text; {meant[0].name} is likely, but not all of its bytes are characters there: look at it with "
            f"`iconv -c -f {meant[0].name} -t UTF-8`, and ask the user for its encoding before you change it"
        )
    return read


def _as_guessed(guess: Guess, data: bytes, lines: bytes) -> EncodedText | None:
    """The text as the guess reads it, or as the usual encoding does where that makes more sense; `lines`: a sample of it."""
    readings = ((encoding, _read_in(encoding, data)) for encoding in _READINGS.get(guess.codec, ()))
    encoding, text = next((each for each in readings if each[1] is not None), (_USUAL, None))
    if text is None:
        return None
    usual = _read_in(_USUAL, data)
    if usual is not None and (usual == text or _mixes_scripts(lines.decode(encoding.codec, "ignore"))):
        encoding, text = _USUAL, usual
    certain = guess.confidence >= LEAST_CONFIDENCE
    other = _LIKE_WINDOWS.get(encoding.codec)
    otherwise = _read_in(other, data) if other is not None else None
    if other is not None and otherwise is not None:
        signs = _differing_signs(lines.decode(encoding.codec), lines.decode(other.codec))
        if any(signs):
            encoding, text = other, otherwise
        elif signs:
            certain = False
    return EncodedText(text, replace(encoding, certain=certain))


def _differing_signs(text: str, other: str) -> list[bool]:
    """Of each sign that is another character in the other reading: whether that is a letter, next to one."""
    places = (at for at, (one, two) in enumerate(zip(text, other, strict=True)) if one != two and not one.isalpha())
    return [other[at].isalpha() and any(map(str.isalpha, text[max(0, at - 1) : at + 2])) for at in places]


def _read_in(encoding: Encoding, data: bytes) -> str | None:
    """The text, where it gives the same bytes again and holds no controls."""
    try:
        text = data.decode(encoding.codec)
        same = text.encode(encoding.codec) == data
    except UnicodeError:
        return None
    return text if same and _CONTROLS.search(text) is None else None


def _mixes_scripts(text: str) -> bool:
    """Whether most of what is beyond ASCII are Greek, Cyrillic or Hebrew letters within words of Latin ones: accents, misread."""
    return len(_MIXED.findall(text)) * 2 > len(_BEYOND_ASCII.findall(text))


def sample(data: bytes) -> bytes:
    """The lines beyond ASCII: with a hundred lines of code around them, of ten comments nine are guessed wrong."""
    taken: list[bytes] = []
    size = 0
    for line in io.BytesIO(data):
        if not line.isascii():
            taken.append(line)
            size += len(line)
            if size > MOST_SAMPLE:
                break
    return b"".join(taken)[:MOST_SAMPLE]

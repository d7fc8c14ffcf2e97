"""How many tokens a text will be, roughly, without any model's vocabulary (D27).

Byte-pair vocabularies spend about a token on four bytes of Latin text and code, on 1.3 Han characters or two Cyrillic
letters, which is what UTF-8 spends bytes on; symbols beyond the basic plane cost about double. What a session's provider
reports corrects the figure (`Context.pending_estimate`). Pure; on the path of every streamed piece, so it must be quick.
"""

import re

MEDIA_TOKENS = 1000
"""What an image counts in an estimate."""
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


def weight(text: str) -> int:
    """Quarters of a token."""
    if text.isascii():
        return len(text)
    return len(text.encode(errors="surrogatepass")) + 4 * len(_ASTRAL.findall(text))


def tokens(text: str) -> int:
    """Tokens, rounded up."""
    return (weight(text) + 3) // 4

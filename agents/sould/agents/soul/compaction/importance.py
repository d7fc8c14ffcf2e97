"""What a part of a conversation is worth keeping word for word (D27).

Importance is similarity to the current task plus fixed weights for errors with their fixes, decisions and open items.
Similarity is TF-IDF over the session, or a provider's embeddings when one is configured. Knows no strategy.
"""

import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from sould.agents.soul.compaction.summary import shortened
from sould.agents.soul.compaction.transcript import Group

Similarity: TypeAlias = Callable[[str, Sequence[str]], Awaitable[list[float]]]
"""How alike each text is to the first one, 0..1."""
Embed: TypeAlias = Callable[[Sequence[str]], Awaitable[list[list[float]]]]

MOST_EMBEDDED = 6_000
"""Characters of one text; models take about 8,000 tokens, and its ends say what a text is about."""
AT_ONCE = 64
_WORD = re.compile(r"[a-z_][a-z0-9_]+|[\u4e00-\u9fff]")
_ERROR = re.compile(
    r"\b(?:\w*error|exception|traceback|panic|failed|failure|fatal|segfault)\b|错误|异常|失败|报错", re.IGNORECASE
)
_DECISION = re.compile(
    r"\b(?:decided?|decision|because|instead of|rather than|must not|never|always|agreed|we will use|let's use)\b"
    r"|决定|因为|必须|不要|约定|改用|采用",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:todo|fixme|remaining|still (?:need|open|missing)|next step|not yet)\b|待办|尚未|下一步|还需", re.IGNORECASE
)
ERROR, FIX, DECISION, OPEN, USER = 1.0, 0.7, 0.6, 0.5, 0.3


async def importance(groups: Sequence[Group], task: str, similarity: Similarity) -> list[float]:
    """One figure a group, not yet divided by its size."""
    alike = await similarity(task, [group.text for group in groups])
    worth: list[float] = []
    after_error = False
    for group, near in zip(groups, alike, strict=True):
        score = near + (USER if group.role == "user" else 0.0)
        erred = bool(_ERROR.search(group.text))
        score += ERROR if erred else FIX if after_error and group.role == "assistant" else 0.0
        score += DECISION if _DECISION.search(group.text) else 0.0
        score += OPEN if _OPEN.search(group.text) else 0.0
        after_error = erred
        worth.append(score)
    return worth


async def by_words(task: str, texts: Sequence[str]) -> list[float]:
    """TF-IDF over the session."""
    vectors = tf_idf([task, *texts])
    return [cosine(vectors[0], vector) for vector in vectors[1:]]


def by_embeddings(embed: Embed) -> Similarity:
    """The provider's embeddings, asked within what servers take at once. Raises whatever `embed` raises."""

    async def similar(task: str, texts: Sequence[str]) -> list[float]:
        asked = [shortened(text, MOST_EMBEDDED) or " " for text in (task, *texts)]
        vectors: list[list[float]] = []
        for start in range(0, len(asked), AT_ONCE):
            vectors += await embed(asked[start : start + AT_ONCE])
        first, *rest = vectors
        return [max(0.0, _dense(first, vector)) for vector in rest]

    return similar


def words(text: str) -> list[str]:
    """Lower-case words and identifiers; Han text by characters and pairs of them."""
    found = _WORD.findall(text.lower())
    pairs = (one + two for one, two in pairwise(found) if one >= "\u4e00" and two >= "\u4e00")
    return [*found, *pairs]


def tf_idf(texts: Sequence[str]) -> list[dict[str, float]]:
    """A vector of length 1 (or empty) for each text."""
    counts = [Counter(words(text)) for text in texts]
    seen = Counter(word for count in counts for word in count)
    vectors: list[dict[str, float]] = []
    for count in counts:
        vector = {word: (1 + math.log(times)) * math.log(1 + len(texts) / seen[word]) for word, times in count.items()}
        norm = math.sqrt(sum(value * value for value in vector.values())) or 1.0
        vectors.append({word: value / norm for word, value in vector.items()})
    return vectors


def cosine(one: dict[str, float], other: dict[str, float]) -> float:
    """Of two vectors of length 1."""
    small, large = (one, other) if len(one) <= len(other) else (other, one)
    return sum(value * large.get(word, 0.0) for word, value in small.items())


def _dense(one: Sequence[float], other: Sequence[float]) -> float:
    norm = math.sqrt(sum(a * a for a in one)) * math.sqrt(sum(b * b for b in other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / norm if norm else 0.0

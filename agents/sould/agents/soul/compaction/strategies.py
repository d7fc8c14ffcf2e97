"""Three answers to what is compacted, what stays word for word, and what becomes of an earlier summary.

A strategy plans; it asks no model for a summary and changes nothing. Every plan fits its `Room`, so that a compaction
always makes room. The kept end never begins inside a tool call and its results.
"""

import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from sould.agents.base.text import plural
from sould.agents.llm.provider import ChatMessage
from sould.agents.soul.compaction.summary import Summary, shortened
from sould.agents.soul.compaction.transcript import Group, earlier_summary, groups, last_request, tail

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
StrategyName: TypeAlias = Literal["simple", "smart", "hierarchical"]
SAME_TOPIC = 0.12
"""Neighbouring turns at least this much alike are one topic."""
MAX_TOPICS = 6
LONG_OUTPUT = 4000
"""Characters of one message above which the hierarchical strategy takes its head and tail."""


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


class Room(Struct, frozen=True):
    """Tokens there are: for the kept end, for messages kept from before it, and for the summary; `keep` messages at the end."""

    keep: int
    tail: int
    excerpts: int
    summary: int


class Plan(Struct, frozen=True):
    """What becomes of a conversation.

    `parts`: each summarised on its own, in order, and their summaries merged. `earlier`: a summary that is
    brought up to date by code, never rewritten. `note`: what was kept, in a sentence.
    """

    parts: tuple[tuple[str, ...], ...]
    kept: int
    also_kept: tuple[int, ...] = ()
    earlier: Summary | None = None
    note: str = ""


class Strategy(Protocol):
    """One way to compact."""

    @property
    def name(self) -> StrategyName:
        """Its name in the configuration."""
        ...

    async def plan(self, messages: Sequence[ChatMessage], room: Room) -> Plan | None:
        """What to do with these messages; None when there is nothing to compact."""
        ...


class Simple(Struct, frozen=True):
    """Everything but the last messages is compacted at once."""

    name: StrategyName = "simple"

    async def plan(self, messages: Sequence[ChatMessage], room: Room) -> Plan | None:
        """See `Strategy`."""
        start = tail(messages, room.keep, room.tail)
        compacted = groups(messages, start)
        if not compacted:
            return None
        kept = len(messages) - start
        return Plan((tuple(group.text for group in compacted),), kept, note=f"Kept the last {plural(kept, 'message')}.")


class Smart(Struct, frozen=True):
    """Also keeps, word for word, the groups that are worth most for their tokens: the task, errors with fixes, decisions."""

    similarity: Similarity = by_words
    name: StrategyName = "smart"

    async def plan(self, messages: Sequence[ChatMessage], room: Room) -> Plan | None:
        """See `Strategy`."""
        start = tail(messages, room.keep, room.tail)
        found = groups(messages, start)
        first = 1 if earlier_summary(messages) is not None else 0
        chosen = await self._chosen(found[first:], last_request(messages), room.excerpts)
        if not found:
            return None
        if len(chosen) == len(found):  # somebody wants it shorter than it is, however little that is
            chosen = []
        compacted = [group for group in found if group not in chosen]
        kept = len(messages) - start
        also = tuple(at for group in chosen for at in range(group.start, group.stop))
        earlier = f", and {len(also)} earlier for what they say about the task" if also else ""
        note = f"Kept the last {plural(kept, 'message')}{earlier}."
        return Plan((tuple(group.text for group in compacted),), kept, also, note=note)

    async def _chosen(self, candidates: Sequence[Group], task: str, budget: int) -> list[Group]:
        worth = await importance(candidates, task, self.similarity)
        # a flat price on each group, so that a heap of tiny ones does not win by being tiny
        by_value = sorted(
            zip(candidates, worth, strict=True), key=lambda pair: pair[1] / (pair[0].tokens + 40), reverse=True
        )
        chosen: list[Group] = [group for group in candidates if group.role == "user" and task and task in group.text][
            -1:
        ]
        spent = sum(group.tokens for group in chosen)
        if spent > budget:
            chosen, spent = [], 0
        for group, value in by_value:
            if value > 0 and group not in chosen and spent + group.tokens <= budget:
                chosen.append(group)
                spent += group.tokens
        return sorted(chosen, key=lambda group: group.start)


class Hierarchical(Struct, frozen=True):
    """Messages become turns, turns become topics, each topic is summarised on its own; an earlier summary is carried on."""

    name: StrategyName = "hierarchical"

    async def plan(self, messages: Sequence[ChatMessage], room: Room) -> Plan | None:
        """See `Strategy`."""
        start = tail(messages, room.keep, room.tail)
        earlier = earlier_summary(messages)
        found = [group for group in groups(messages, start) if earlier is None or group.start > 0]
        if not found:
            return None
        grouped = topics(turns(found))
        parts = tuple(tuple(f"# Turn\n{turn}" for turn in topic) for topic in grouped)
        kept = len(messages) - start
        carried = " and carried the earlier summary on" if earlier is not None else ""
        note = (
            f"Kept the last {plural(kept, 'message')}, summarised the rest as {plural(len(parts), 'topic')}{carried}."
        )
        return Plan(parts, kept, earlier=earlier, note=note)


def turns(found: Sequence[Group]) -> list[str]:
    """What happened between one word of the user and the next, with long messages cut to their ends."""
    made: list[list[str]] = []
    for group in found:
        if group.role == "user" or not made:
            made.append([])
        made[-1].append(shortened(group.text, LONG_OUTPUT))
    return ["\n\n".join(texts) for texts in made]


def topics(texts: Sequence[str]) -> list[list[str]]:
    """Neighbouring turns about the same thing, at most `MAX_TOPICS` of them."""
    vectors = tf_idf(texts)
    made: list[list[int]] = []
    for at in range(len(texts)):
        if made and cosine(vectors[at - 1], vectors[at]) >= SAME_TOPIC:
            made[-1].append(at)
        else:
            made.append([at])
    while len(made) > MAX_TOPICS:
        sizes = [len(one) + len(two) for one, two in pairwise(made)]
        smallest = sizes.index(min(sizes))
        made[smallest : smallest + 2] = [made[smallest] + made[smallest + 1]]
    return [[texts[at] for at in members] for members in made]


def strategy_named(name: StrategyName, similarity: Similarity) -> Strategy:
    """The configured strategy."""
    made: dict[StrategyName, Strategy] = {
        "simple": Simple(),
        "smart": Smart(similarity),
        "hierarchical": Hierarchical(),
    }
    return made[name]

"""Whether a hook's matcher fits. A few characters of a regular expression can take for ever, and clients bring theirs.

What is sure to be quick is looked at here; everything else in a child with a time limit. Never decides what a hook does.
"""

import json
import logging
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sould.agents.base.process.searching import SearchLimits, run_program

logger = logging.getLogger(__name__)

LONGEST: Final = 1000
"""Characters of a matcher."""
SHORT: Final = 200
"""Characters of a target in which two repetitions are tried in no time."""
LIMITS: Final = SearchLimits(seconds=1, bytes=4096)
_PROGRAM: Final = "import json, re, sys; m, t = json.load(sys.stdin); sys.exit(0 if re.search(m, t) else 1)"
_OUTER = re.compile(r"\^?\(([^()]*)\)\$?")


async def fitting(matchers: Iterable[str], target: str, limits: SearchLimits = LIMITS) -> frozenset[str]:
    """Those that fit. One that cannot be read fits nothing; one that takes too long fits, so that its hook can judge."""
    return frozenset([matcher for matcher in dict.fromkeys(matchers) if await _fits(matcher, target, limits)])


def may_fit(matcher: str, target: str) -> bool:
    """Whether it fits, or would have to be tried for long."""
    return _is_readable(matcher) and (not _is_quick(matcher, target) or re.search(matcher, target) is not None)


async def _fits(matcher: str, target: str, limits: SearchLimits) -> bool:
    if not may_fit(matcher, target):
        return False
    if _is_quick(matcher, target):
        return True
    argv = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM]
    given = json.dumps((matcher, target)).encode()
    try:
        ran = await run_program(argv, cwd=Path("/"), environment={}, stdin=given, limits=limits)
    except OSError as error:
        logger.warning("the matcher %r of a hook was not tried, so its hook runs: %s", matcher[:80], error)
        return True
    if ran.timed_out:
        logger.warning("the matcher %r of a hook took too long, so its hook runs", matcher[:80])
    return ran.code != 1


def _is_readable(matcher: str) -> bool:
    try:
        if len(matcher) <= LONGEST:
            re.compile(matcher)
            return True
        problem: object = f"longer than {LONGEST} characters"
    except (re.error, RecursionError, OverflowError) as error:
        problem = error
    logger.warning("the matcher %r of a hook is not a valid regular expression: %s", matcher[:80], problem)
    return False


def _is_quick(matcher: str, target: str) -> bool:
    """Alternatives of plain characters with hardly a repetition; no groups, of which each can double the time."""
    outer = _OUTER.fullmatch(matcher)
    inner = outer[1] if outer else matcher
    if any(char in inner for char in "(){?"):
        return False
    most = 2 if len(target) <= SHORT else 0
    return all(part.count("*") + part.count("+") <= most for part in inner.split("|"))

"""How many tests passed and failed, as far as the output of a known test runner says it. Pure; never guesses."""

import re
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from sould.agents.toolapi.result import LEFT_OUT


class Counts(Struct, frozen=True):
    """What a run came to. `unit`: what was counted, where it is not tests."""

    passed: int
    failed: int
    skipped: int = 0
    unit: str = ""

    def __str__(self) -> str:
        """`2 failed, 10 passed`."""
        numbers = {"failed": self.failed, "passed": self.passed, "skipped": self.skipped}
        said = ", ".join(f"{number} {name}" for name, number in numbers.items() if number) or "0 passed"
        return f"{self.unit}: {said}" if self.unit else said


_FAILED = frozenset({"failed", "fail", "error", "errors", "FAIL"})
_PASSED = frozenset({"passed", "pass", "ok", "PASS", "xpassed"})
_SKIPPED = frozenset({"skipped", "ignored", "todo", "pending", "SKIP", "xfailed"})
_NUMBERS = re.compile(r"(\d+) (failed|errors?|passed|skipped|xfailed|xpassed|ignored|todo|pending)\b")
_PYTEST = re.compile(r"^(?:=+ )?(?=\d+ \w+)(.* in \d+(?:\.\d+)?s(?: \(.*\))?)(?: =+)?$", re.MULTILINE)
_JEST = re.compile(r"^ *Tests:? +(\d.*)$", re.MULTILINE)
_NODE = re.compile(r"^(?:#|ℹ) (pass|fail|skipped) (\d+)$", re.MULTILINE)  # noqa: RUF001 -- it prints this sign
_CARGO = re.compile(r"^test result: (.*)$", re.MULTILINE)
_GO_TEST = re.compile(r"^ *--- (PASS|FAIL|SKIP): ", re.MULTILINE)
_GO_PACKAGE = re.compile(r"^(ok|FAIL)[ \t]+\S+[ \t]", re.MULTILINE)


def counts_in(output: str) -> Counts | None:
    """The counts; None where no runner is recognised, or where numbers to be added up were left out of the output."""
    for last in (_PYTEST, _JEST):
        lines = [line for line in last.findall(output) if _NUMBERS.search(line)]
        if lines:
            return _counts(_numbers(lines[-1]))
    node = _NODE.findall(output)
    if node:
        return _counts({name: int(number) for name, number in node})
    if LEFT_OUT in output:
        return None
    crates = _CARGO.findall(output)
    if crates:
        return _counts(sum((Counter(_numbers(line)) for line in crates), Counter[str]()))
    return _of_go(output)


def _of_go(output: str) -> Counts | None:
    """Without `-v` it names the tests that failed, and only counts packages."""
    packages = _GO_PACKAGE.findall(output)
    if not packages:
        return None
    tests = _GO_TEST.findall(output)
    return _counts(Counter(tests)) if "PASS" in tests else _counts(Counter(packages), "packages")


def _numbers(line: str) -> dict[str, int]:
    return {name: int(number) for number, name in _NUMBERS.findall(line)}


def _counts(found: dict[str, int], unit: str = "") -> Counts:
    def of(names: Iterable[str]) -> int:
        return sum(found.get(name, 0) for name in names)

    return Counts(of(_PASSED), of(_FAILED), of(_SKIPPED), unit)

"""The editor tools of an agent, served by basedpyright, jedi-language-server and typescript-language-server, without an editor."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sould.agents.wire.messages import ApprovalRequest, ToolResult, ToolReturn
from soultest.bench import Bench, Watcher, call, finish, make_bench
from soultest.clients import NODE

PROGRAMS = Path(sys.executable).parent
MODULES = Path(__file__).parents[3] / "clients" / "node_modules"

PYTHON = {
    "shop/__init__.py": "",
    "shop/prices.py": '''\
"""Prices."""


class Price:
    """What a thing costs."""

    def __init__(self, cents: int) -> None:
        self.cents = cents

    def doubled(self) -> "Price":
        """Twice as much."""
        return Price(self.cents * 2)
''',
    "shop/till.py": """\
from shop.prices import Price


def total(prices: list[Price]) -> int:
    note = "grüße 🎉"; first = prices[0].doubled()
    return sum(price.doubled().cents for price in prices) + first.cents + len(note)


NOTHING = total([])
""",
}
TYPESCRIPT = {
    "package.json": '{"name": "shop", "private": true}',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "types": []}, "include": ["shop"]}',
    "shop/prices.ts": """\
/** What a thing costs. */
export class Price {
    constructor(public cents: number) {}

    /** Twice as much. */
    doubled(): Price {
        return new Price(this.cents * 2);
    }
}
""",
    "shop/till.ts": """\
import { Price } from "./prices";

export function total(prices: Price[]): number {
    const note = "grüße 🎉"; const first = prices[0].doubled();
    return prices.reduce((sum, price) => sum + price.doubled().cents, first.cents + note.length);
}
""",
}


@dataclass
class Case:
    """A language server, a project of its language, and what it says of it."""

    name: str
    files: dict[str, str]
    command: tuple[str, ...]
    language: str
    prices: str
    till: str
    wrong: str
    """A text of `till` with a mistake."""
    said: str
    """Of that mistake."""
    documents: str = "Twice as much"
    outline: tuple[str, ...] = ("Price", "Price/doubled")
    environment: dict[str, str] = field(default_factory=dict[str, str])


WRONG_PYTHON = "from shop.prices import Price\n\n\nnumber: int = Price(1)\n"
CASES = [
    Case(
        "basedpyright",
        PYTHON,
        (str(PROGRAMS / "basedpyright-langserver"), "--stdio"),
        "python",
        "shop/prices.py",
        "shop/till.py",
        WRONG_PYTHON,
        '"Price" is not assignable to',
    ),
    Case(
        "jedi-language-server",
        PYTHON,
        (str(PROGRAMS / "jedi-language-server"),),
        "python",
        "shop/prices.py",
        "shop/till.py",
        "def (:\n",
        "SyntaxError",
    ),
    Case(
        "typescript-language-server",
        TYPESCRIPT,
        (),
        "typescript",
        "shop/prices.ts",
        "shop/till.ts",
        'import { Price } from "./prices";\nconst count: number = new Price(1);\n',
        "not assignable to type 'number'",
    ),
]


class Asker:
    """An agent of a trusted project that calls editor tools."""

    def __init__(self, bench: Bench, watcher: Watcher) -> None:
        self._bench = bench
        self.watcher = watcher

    async def result(self, tool: str, **arguments: object) -> ToolReturn:
        """What a call came to."""
        self._bench.script(call(tool, **arguments), "text: done")
        await finish(self.watcher.session, tool)
        return self.watcher.of(ToolResult)[-1].return_value

    async def data(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Its data; a server that is still at work is asked again."""
        async with asyncio.timeout(90):
            while True:
                result = await self.result(tool, **arguments)
                if not result.is_error:
                    assert isinstance(result.output, str)
                    return json.loads(result.output)["data"]
                assert result.message.startswith("busy"), result.message


@asynccontextmanager
async def asking(tmp_path: Path, case: Case) -> AsyncGenerator[tuple[Asker, Bench], None]:
    commands = {"commands": {case.language: case.command}} if case.command else {}
    tmp_path.mkdir(exist_ok=True)
    bench = make_bench(tmp_path, {"languageservers": commands})
    for name, text in case.files.items():
        (bench.project / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.project / name).write_text(text)
    if case.language == "typescript":  # the project's own, which no setting names
        (bench.project / "node_modules").symlink_to(MODULES)
    bench.trust.set(bench.project, "trusted")
    environment = {"HOME": str(bench.root), "PATH": f"{NODE.parent}{os.pathsep}/usr/bin:/bin"}
    async with bench.running():
        opening = bench.opening(environment=environment, mode="review")
        yield Asker(bench, Watcher(await bench.host.new(opening))), bench


def of_symbol(name: str, line: str) -> dict[str, str]:
    return {"symbol": name, "lineText": line}


@pytest.mark.node
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_what_a_language_server_knows_is_had_without_an_editor(tmp_path: Path, case: Case) -> None:
    async with asking(tmp_path, case) as (asker, _):
        place = {"file": case.till, "anchor": of_symbol("doubled", "first = prices[0]")}

        [defined] = (await asker.data("definition", **place))["locations"]
        assert defined["file"] == case.prices
        assert "doubled" in defined["preview"]

        assert case.documents in (await asker.data("hover", **place))["markdown"]

        used = await asker.data("references", **place)
        assert used["total"] == 2, "the definition is none"
        columns = sorted((hit["line"], hit["column"]) for group in used["groups"] for hit in group["hits"])
        assert columns == [
            (number, _column(line))
            for number, line in enumerate(case.files[case.till].splitlines(), 1)
            if "doubled" in line
        ], "behind an emoji, too"

        found = await asker.data("references", **place, includeDeclaration=True)
        assert found["total"] == 3
        assert {group["file"]: len(group["hits"]) for group in found["groups"]} == {case.prices: 1, case.till: 2}

        outline = (await asker.data("symbols", file=case.prices, depth=1))["symbols"]
        paths = [symbol["namePath"] for symbol in outline]
        assert [path for path in case.outline if path in paths] == list(case.outline)

        assert "Price" in {symbol["name"] for symbol in (await asker.data("symbols", query="Price"))["symbols"]}

        named = {"file": case.prices, "anchor": {"namePath": "Price/doubled"}}
        assert case.documents in (await asker.data("hover", **named))["markdown"]


def _column(line: str) -> int:
    return len(line[: line.index("doubled")].encode("utf-16-le")) // 2 + 1


@pytest.mark.node
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_problems_are_those_of_the_text_as_it_is_now(tmp_path: Path, case: Case) -> None:
    async with asking(tmp_path, case) as (asker, bench):

        async def messages() -> list[str]:
            said = await asker.data("diagnostics", files=[case.till], minSeverity="error", waitMs=20_000)
            assert not said.get("stillAnalyzing")
            return [item["message"] for item in said["items"]]

        assert await messages() == []
        (bench.project / case.till).write_text(case.wrong)
        assert any(case.said in message for message in await messages())
        (bench.project / case.till).write_text(case.files[case.till])
        assert await messages() == []


@pytest.mark.node
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_a_rename_goes_through_the_review_in_every_file(tmp_path: Path, case: Case) -> None:
    async with asking(tmp_path, case) as (asker, bench):
        place = {"file": case.prices, "anchor": {"namePath": "Price/doubled"}}
        preview = await asker.data("rename", **place, newName="twice", dryRun=True)
        assert preview["files"] == 2
        assert "+" in preview["preview"]
        assert (bench.project / case.till).read_text() == case.files[case.till]

        written = await asker.data("rename", **place, newName="twice")
        assert {each["file"] for each in written["applied"]} == {case.prices, case.till}
        for name in (case.prices, case.till):
            text = (bench.project / name).read_text()
            assert "doubled" not in text
            assert text == case.files[name].replace("doubled", "twice")
        assert not asker.watcher.of(ApprovalRequest)  # in `review`, edits are looked at afterwards


@pytest.mark.node
async def test_what_another_file_becomes_is_known_a_moment_later(tmp_path: Path) -> None:
    case = CASES[0]
    async with asking(tmp_path, case) as (asker, bench):
        ask = {"files": [case.till], "minSeverity": "error", "waitMs": 20_000}
        assert (await asker.data("diagnostics", **ask))["items"] == []
        text = case.files[case.prices].replace("def doubled", "def halved")
        (bench.project / case.prices).write_text(text)
        # basedpyright waits a moment before it looks at a file that was changed on disk, and says nothing meanwhile
        while not (items := (await asker.data("diagnostics", **ask))["items"]):
            pass
        assert all('"doubled"' in item["message"] for item in items)


@pytest.mark.node
@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.name != "jedi-language-server"],  # counts a last line's end as part of the line
    ids=lambda case: case.name,
)
async def test_paths_of_any_characters_and_both_line_ends_are_no_trouble(tmp_path: Path, case: Case) -> None:
    async with asking(tmp_path / "ein Weg#%41 für 🎉", case) as (asker, bench):
        for name in (case.prices, case.till):
            (bench.project / name).write_bytes(case.files[name].replace("\n", "\r\n").encode())
        written = await asker.data("rename", file=case.prices, anchor={"namePath": "Price/doubled"}, newName="thrice")
        assert {each["file"] for each in written["applied"]} == {case.prices, case.till}
        text = (bench.project / case.till).read_bytes().decode()
        assert text == case.files[case.till].replace("doubled", "thrice").replace("\n", "\r\n")


@pytest.mark.node
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
async def test_an_edit_is_told_with_the_errors_that_it_brought_which_stand_at_its_hunks(
    tmp_path: Path, ends: str
) -> None:
    case = CASES[0]
    async with asking(tmp_path, case) as (asker, bench), asyncio.timeout(90):
        (bench.project / case.till).write_text(case.files[case.till], newline=ends)
        await asker.data("diagnostics", files=[case.till], minSeverity="error", waitMs=20_000)
        result = await asker.result("WriteFile", path=case.till, content=case.wrong)
        while "new_problems" not in (result.extras or {}):  # a write waits for the server only so long
            await asker.result("WriteFile", path=case.till, content=case.files[case.till])
            result = await asker.result("WriteFile", path=case.till, content=case.wrong)
        assert case.said in str((result.extras or {})["new_problems"])
        assert case.said in result.message
        async with bench.port.project(bench.project, bench.root, "somebody") as project:
            [file] = await project.pending_now()
            told = [problem for hunk in file.hunks for problem in hunk.problems]
        assert [problem for problem in told if case.said in problem]

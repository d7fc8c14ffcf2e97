"""One project that is asked about by every editor tool, whoever serves it: what is asked, and what has to come of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]

NOTEBOOK: Final = """\
{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "one",
   "metadata": {},
   "outputs": [],
   "source": [
    "1 + 1"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"""
FILES: Final[Mapping[str, str]] = {
    "package.json": '{"name": "shop", "private": true, "type": "module"}\n',
    "jsconfig.json": '{"compilerOptions": {"checkJs": true, "types": []}, "include": ["*.js"]}\n',
    "prices.js": """\
/** Twice as much.
 * @param {number} cents */
export function doubled(cents) {
    return cents * 2;
}
""",
    "till.js": """\
import { doubled } from "./prices.js";

/** @param {number[]} prices */
export function total(prices) {
    const note = "grüße 🎉"; const first = doubled(prices[0]);
    return first + note.length + doubled(1);
}
""",
    "wrong.js": """\
/** @type {number} */
export const count = "many";
""",
    "sums.ipynb": NOTEBOOK,
    "ugly.js": "export function plain( a ) {\n        return a\n}\n",
}
"""By name. What is behind an emoji shows who counts columns how."""
PYTHON: Final[Mapping[str, str]] = {
    "prices.py": '''\
def doubled(cents: int) -> int:
    """Twice as much."""
    return cents * 2
''',
    "till.py": """\
from prices import doubled


def total(prices: list[int]) -> int:
    note = "grüße 🎉"; first = doubled(prices[0])
    return first + len(note) + doubled(1)
""",
    "wrong.py": 'count: int = "many"\n',
    "unread.py": "count = = 1\n",
}
"""The same for servers of Python."""
SHOWN: Final = "till.js"
"""The file that the editor has open."""
PLACE: Final = {"file": "till.js", "anchor": {"symbol": "doubled", "lineText": "const first"}}

DECLARED: Final = {"file": "prices.js", "anchor": {"symbol": "doubled", "lineText": "export function doubled"}}


def column(name: str, line: int, word: str, nth: int = 0) -> int:
    """Where a word stands in a line, in UTF-16 code units."""
    text = {**FILES, **PYTHON}[name].splitlines()[line - 1]
    found = -1
    for _ in range(nth + 1):
        found = text.index(word, found + 1)
    return len(text[:found].encode("utf-16-le")) // 2 + 1


@dataclass(frozen=True)
class Ask:
    """A call, what is looked at in its answer, and how that has to be. `after`: what files hold then."""

    arguments: Json
    sees: Callable[[Json], Any]
    expected: Any
    after: Mapping[str, str] = field(default_factory=dict[str, str])


def _hits(data: Json) -> Any:
    return data["total"], {
        group["file"]: [(hit["line"], hit["column"]) for hit in group["hits"]] for group in data["groups"]
    }


def _places(data: Json) -> Any:
    return [
        (each["file"], each["range"]["start"]["line"], each["range"]["start"]["column"]) for each in data["locations"]
    ]


def _problem_places(data: Json) -> Any:
    return [
        (each["file"], each["severity"], each["range"]["start"]["line"], each["range"]["start"]["column"])
        for each in data["items"]
    ]


def _problems(data: Json) -> Any:
    return _problem_places(data), ["not assignable" in each["message"] for each in data["items"]]


def _applied(data: Json) -> Any:
    return sorted(each["file"] for each in data["applied"])


RENAMED: Final = {name: FILES[name].replace("doubled", "twice") for name in ("prices.js", "till.js")}

ASKS: Final[Mapping[str, Ask]] = {
    "editor_state": Ask(
        {"include": ["open", "active"]},
        lambda data: (data["shared"], [each["file"] for each in data["open"]]),
        (True, [SHOWN]),
    ),
    "editor_open": Ask({"file": "prices.js", "anchor": {"line": 3}}, lambda data: data["opened"], True),
    "doc_read": Ask({"file": SHOWN}, lambda data: data["text"], FILES[SHOWN]),
    "doc_edit": Ask(
        {"edits": [{"file": "package.json", "hunks": [{"oldText": "shop", "newText": "till"}]}]},
        _applied,
        ["package.json"],
        {"package.json": FILES["package.json"].replace("shop", "till")},
    ),
    "doc_save": Ask({"files": [SHOWN]}, lambda data: [Path(each).name for each in data["saved"]], [SHOWN]),
    "doc_format": Ask(
        {"file": "ugly.js"}, _applied, ["ugly.js"], {"ugly.js": "export function plain(a) {\n    return a\n}\n"}
    ),
    "diagnostics": Ask({"files": ["wrong.js"], "waitMs": 20_000}, _problems, ([("wrong.js", "error", 2, 14)], [True])),
    "symbols": Ask(
        {"file": "prices.js"},
        lambda data: [
            (each["namePath"], each["kind"], (each.get("selectionRange") or each["range"])["start"]["line"])
            for each in data["symbols"]
        ],
        [("doubled", "function", 3)],
    ),
    "definition": Ask(dict(PLACE), _places, [("prices.js", 3, 17)]),
    "references": Ask(
        dict(PLACE),
        _hits,
        (3, {"till.js": [(1, 10), (5, column(SHOWN, 5, "doubled")), (6, column(SHOWN, 6, "doubled"))]}),
    ),
    "hover": Ask(dict(PLACE), lambda data: "Twice as much." in data["markdown"], True),
    "rename": Ask({**DECLARED, "newName": "twice"}, _applied, ["prices.js", "till.js"], RENAMED),
    "scm": Ask({"scope": "base"}, lambda data: "package.json" in {each["file"] for each in data["files"]}, True),
    "notebook": Ask(
        {"file": "sums.ipynb"},
        lambda data: [(each["id"], each["source"]) for each in data["cells"]],
        [("one", "1 + 1")],
    ),
    "notebook_edit": Ask(
        {"file": "sums.ipynb", "cell": "one", "source": "2 + 2"},
        _applied,
        ["sums.ipynb"],
        {"sums.ipynb": NOTEBOOK.replace("1 + 1", "2 + 2").replace('count": 1', 'count": null')},
    ),
    "review": Ask({}, lambda data: "package.json" in {each["file"] for each in data["pending"]}, True),
}
"""By tool, in the order in which they are called: what writes comes to the review."""


IN_PYTHON: Final = {"file": "till.py", "anchor": {"symbol": "doubled", "lineText": "first = doubled"}}
IN_PYTHON_TWICE: Final = {name: PYTHON[name].replace("doubled", "twice") for name in ("prices.py", "till.py")}


def python_asks(diagnostics: Ask) -> Mapping[str, Ask]:
    """The same of a server of Python; what they find wrong differs."""
    return {
        **ASKS,
        "diagnostics": diagnostics,
        "symbols": Ask(
            {"file": "prices.py"},
            lambda data: [(each["kind"], each["range"]["start"]["line"]) for each in _named(data, "doubled")],
            [("function", 1)],
        ),
        "definition": Ask(IN_PYTHON, _places, [("prices.py", 1, 5)]),
        "references": Ask(
            IN_PYTHON,
            _hits,
            (3, {"till.py": [(1, 20), *((line, column("till.py", line, "doubled")) for line in (5, 6))]}),
        ),
        "hover": Ask(IN_PYTHON, lambda data: "Twice as much." in data["markdown"], True),
        "rename": Ask({**IN_PYTHON, "newName": "twice"}, _applied, ["prices.py", "till.py"], IN_PYTHON_TWICE),
    }


def _named(data: Json, name_path: str) -> list[Json]:
    return [each for each in data["symbols"] if each["namePath"] == name_path]


BASEDPYRIGHT: Final = python_asks(
    Ask(
        {"files": ["wrong.py"], "waitMs": 20_000, "minSeverity": "error"},
        _problems,
        ([("wrong.py", "error", 1, 14)], [True]),
    )
)
JEDI: Final = python_asks(
    Ask({"files": ["unread.py"], "waitMs": 20_000}, _problem_places, [("unread.py", "error", 1, 9)])
)


def lay_out(project: Path, modules: Path) -> None:
    """The files, in the project; `modules`: where node finds the language server's."""
    for name, text in {**FILES, **PYTHON}.items():
        (project / name).write_text(text, encoding="utf-8")
    (project / "node_modules").symlink_to(modules)

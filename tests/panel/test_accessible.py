"""axe-core finds nothing wrong in any state of the panel, in any theme; it stays whole at 200 % and from right to left."""

from typing import Any, Final

import pytest
from playwright.sync_api import expect

from soultest.panelpage import EXTENSION, PanelPage
from soultest.world import World, call

from .conftest import Open

pytestmark = [pytest.mark.panel, pytest.mark.timeout(300)]

AXE: Final = EXTENSION / "node_modules" / "axe-core" / "axe.min.js"
THEMES: Final[list[dict[str, Any]]] = [
    {"color_scheme": "dark", "contrast": "no-preference"},
    {"color_scheme": "light", "contrast": "no-preference"},
    {"color_scheme": "dark", "contrast": "more"},
    {"color_scheme": "light", "contrast": "more"},
]
ANSWER: Final = [
    "think: I look at it first.",
    "line: # What I *found*",
    "line: See [main](src/main.py:2), `code` and https://example.org:",
    "line: ",
    "line: ```python",
    "line: def main() -> int:  # greets",
    "line:     return len('hello') + 1",
    "line: ```",
    "line: ",
    "line: | a | b |",
    "line: |---|---|",
    "line: | 1 | 2 |",
    "line: ",
    "line: > A quote.",
]
QUESTION: Final = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL", "description": "a server"}],
    "multi_select": False,
}
TODOS: Final = [{"title": "Look", "status": "done"}, {"title": "Change", "status": "in_progress"}]


class Axe:
    """Looks at states of a panel; what is found in all of them is told at the end."""

    def __init__(self, panel: PanelPage) -> None:
        self._panel = panel
        self.found: list[str] = []
        panel.page.evaluate(AXE.read_text(encoding="utf-8"))

    def look(self, state: str) -> None:
        """In every theme."""
        for theme in THEMES:
            self._panel.page.emulate_media(**theme)
            answer = self._panel.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            for each in answer["violations"]:
                names = " ".join(theme.values())
                self.found += [f"{state}, {names}: {each['id']}: {node['html'][:160]}" for node in each["nodes"]]


def test_nothing_is_wrong_in_any_state(world: World, open_panel: Open) -> None:
    (world.project / "a.txt").write_text("one\ntwo\n")
    colours = "printf '\\033[31mred\\033[32mgreen\\033[33myellow\\033[34mblue\\033[35mmagenta\\033[36mcyan\\033[0m'; ls nothing"
    world.script([
        call("SetTodoList", "t1", todos=TODOS),
        call("WriteFile", "w1", path="a.txt", content="one\n2\n"),
        call("Shell", "s1", command=colours),
        "\n".join(ANSWER),
        call("AskUserQuestion", "q1", questions=[QUESTION]),
        "text: Fine.",
    ])  # fmt: skip
    panel = open_panel()
    axe = Axe(panel)
    axe.look("empty")
    panel.send("What is there?")
    expect(panel.question).to_be_visible()
    axe.look("a permission")
    panel.choose(1)
    panel.shows("A quote.")
    panel.idle()
    panel.conversation.evaluate("all => all.querySelectorAll('[aria-expanded=false]').forEach((each) => each.click())")
    axe.look("an answer")
    panel.page.get_by_role("button", name="Show by what").click()
    expect(panel.page.get_by_role("dialog").get_by_role("table")).to_be_visible()
    axe.look("what fills the window")
    panel.page.keyboard.press("Escape")
    panel.page.get_by_role("button", name="Fold the agent's steps").click()
    axe.look("folded")
    panel.page.get_by_role("button", name="Find in the conversation").click()
    panel.page.keyboard.type("quote")
    expect(panel.page.get_by_text("1 of 1")).to_be_visible()
    axe.look("finding")
    panel.page.keyboard.press("Escape")
    panel.page.get_by_role("button", name="Timeline").click()
    expect(panel.page.get_by_role("button", name="Go back to before")).to_be_visible()
    axe.look("timeline")
    panel.page.get_by_title("Back to the conversation").click()
    panel.composer.press_sequentially("/")
    expect(panel.page.get_by_role("listbox")).to_be_visible()
    axe.look("commands")
    panel.send("Ask me")
    expect(panel.question.get_by_text("a server")).to_be_visible()
    panel.send("Later")
    expect(panel.page.get_by_role("region", name="Queued messages")).to_be_visible()
    axe.look("a form and a queue")
    panel.send("/btw and why?")
    expect(panel.page.get_by_role("complementary")).to_contain_text("Fine.")
    axe.look("a question on the side")
    panel.page.get_by_title("All sessions").click()
    expect(panel.page.get_by_role("main").get_by_role("listitem")).to_have_count(1)
    axe.look("sessions")
    assert axe.found == [], "\n".join(axe.found)


def test_nothing_is_wrong_beside_the_conversation(world: World, open_panel: Open) -> None:
    (world.project / "a.txt").write_text("one\ntwo\n")
    begin = call("Shell", "s1", command="sleep 600", run_in_background=True, description="the server")
    write = call("WriteFile", "w1", path="a.txt", content="one\n2\n")
    world.script([call("SetTodoList", "t1", todos=TODOS), begin, write, "text: Done."])
    panel = open_panel(380)
    axe = Axe(panel)
    panel.send("Go")
    panel.question.get_by_role("button", name="Change the command").click()
    axe.look("a command that is changed")
    panel.page.keyboard.press("Escape")
    panel.choose(1)
    panel.shows("Done.")
    panel.idle()
    plan = panel.page.get_by_role("region", name="Plan")
    plan.get_by_role("button").first.click()
    plan.get_by_role("button", name="Comment on step 2").click()
    tasks = panel.page.get_by_role("region", name="Background tasks")
    tasks.get_by_role("button").first.click()
    tasks.get_by_role("button", name="Output of the server").click()
    expect(tasks.get_by_text("No output yet.")).to_be_visible()
    axe.look("a comment on the plan, a background task")
    panel.page.get_by_role("button", name="More", exact=True).click()
    axe.look("a menu")
    panel.page.get_by_role("menuitem", name="Review its changes").click()
    expect(panel.page.get_by_role("button", name="Keep line 2 of a.txt")).to_be_visible()
    axe.look("the review")
    assert axe.found == [], "\n".join(axe.found)


def test_nothing_is_cut_off_at_double_size_or_from_right_to_left(world: World, open_panel: Open) -> None:
    """A side bar of 380 pixels at 200 % is one of 190."""
    world.script([call("Shell", "s1", command="touch made"), "text: שלום, this is `code`."])
    panel = open_panel(190)
    panel.send("שלום")
    expect(panel.question).to_be_visible()
    for direction in ("ltr", "rtl"):
        panel.page.evaluate("(direction) => { document.documentElement.dir = direction; }", direction)
        over = panel.page.evaluate(
            """() => [...document.querySelectorAll('button, textarea, h1, h2')].filter((each) => {
                const box = each.getBoundingClientRect();
                return box.width > 1 && (box.left < -1 || box.right > innerWidth + 1);
            }).map((each) => each.outerHTML.slice(0, 200))"""
        )
        assert over == []
    panel.choose(1)
    panel.shows("שלום, this is")

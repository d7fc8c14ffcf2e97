"""Titles of tool cards: one line that says what a call does, however long and however written that is. Pure.

Whole, the same stands in the card's content or its input; nobody decides by a title alone.
"""

from sould.agents.permissions.visible import cut_to, visible

MAX_TITLE = 240
"""Columns; East Asian characters take two, marks above other characters none."""
LINE_END = "⏎"
"""In place of a line's end: two commands must not read like one."""
FIRST_TITLES = {
    "Agent": "Start a subagent",
    "AskUserQuestion": "Ask a question",
    "CreateSubagent": "Create a subagent type",
    "EnterPlanMode": "Enter plan mode",
    "ExitPlanMode": "Review the plan",
    "FetchURL": "Fetch a page",
    "Glob": "Find files",
    "Grep": "Search files",
    "ReadFile": "Read a file",
    "ReadMediaFile": "Look at a picture",
    "SearchWeb": "Search the web",
    "SendDMail": "Send a D-Mail",
    "SetTodoList": "Update the todo list",
    "Shell": "Run a command",
    "StrReplaceFile": "Edit a file",
    "TaskList": "List the background tasks",
    "TaskOutput": "Look at a background task",
    "TaskStop": "Stop a background task",
    "Think": "Think it over",
    "WriteFile": "Write a file",
}
"""What a built-in tool does, until its arguments are known."""


def first_title(tool: str) -> str:
    """What a call of this tool does, as far as its name says it; never only the name."""
    server, parted, name = tool.partition("__")
    if parted and server and name:
        return title(f"{server}: {name}")
    return FIRST_TITLES.get(tool) or title(f"Use {tool}")


def title(text: str) -> str:
    """`text` as a title: on one line, nothing in it invisible, its end there also when it is cut to `MAX_TITLE` columns."""
    lines = (" ".join(visible(line.strip()).replace(LINE_END, "\\u23ce").split()) for line in text.splitlines())
    return cut_to(f" {LINE_END} ".join(line for line in lines if line), MAX_TITLE)

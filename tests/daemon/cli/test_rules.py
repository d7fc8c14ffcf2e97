"""`sould rules`, and answers that outlive their session, through the real program."""

import json
import re
from typing import Any

import pytest

from soultest.cliuser import User
from soultest.faulty import Editor
from soultest.world import call

ECHO = call("Shell", "c1", command="echo hello > new.txt")
NOBODY = 3
"""What `sould run` exits with where nobody can answer."""


def rules(user: User, *arguments: str) -> dict[str, Any]:
    return json.loads(user.sould("rules", "--json", *arguments).stdout)


def asks(user: User, *scripts: str) -> tuple[Editor, str]:
    """An editor that leaves the question open, and the question's id."""
    user.scripted(*scripts)
    editor = Editor(user.daemon, user.daemon.acp(), answer="")
    editor.open()
    editor.begin("go", "turn")
    editor.wait(lambda message: message.get("method") == "session/request_permission")
    found = re.search(r"→ sould approve (\w+)", user.sould("status").stdout)
    assert found
    return editor, found[1]


def ended(editor: Editor) -> None:
    editor.wait(lambda message: message.get("id") == "turn" and "method" not in message)


def test_an_answer_for_the_project_outlives_session_and_daemon_until_it_is_forgotten(user: User) -> None:
    user.daemon.start()
    editor, request = asks(user, ECHO, "text: done")
    shown = user.sould("approve", request, "--show").stdout
    assert f"add --for-project: Every session in {user.project} runs this command there without asking." in shown
    assert "--always" not in shown
    assert "depends on the project" in user.sould("approve", request, "--always").stderr
    assert user.sould("approve", request, "--for-project").returncode == 0
    ended(editor)
    assert user.sould("run", "go").returncode == 0
    assert user.sould("restart").returncode == 0
    assert user.sould("run", "go").returncode == 0
    other = user.project.parent / "other"
    other.mkdir()
    assert user.sould("run", "go", cwd=other).returncode == NOBODY
    [rule] = rules(user)["rules"]
    assert (rule["scope"], rule["by"], rule["project"]) == ("project", "the command line", str(user.project))
    listed = user.sould("rules").stdout
    assert user.sould("rules", "list").stdout == listed
    assert f"{rule['id']}  allow shell 'echo hello > new.txt'".replace("'", "") in listed.replace("'", "")
    assert not json.loads(user.sould("rules", "--json", cwd=other).stdout)["rules"]
    assert "In other projects" in user.sould("rules", "--all", cwd=other).stdout
    assert user.sould("rules", "forget", rule["id"]).stdout == "1 answer forgotten.\n"
    assert user.sould("run", "go").returncode == NOBODY
    assert "there is no" in user.sould("rules", "forget", rule["id"]).stderr


def test_the_list_has_what_is_always_allowed_and_the_user_s_own_rules_each_with_its_file(user: User) -> None:
    user.daemon.start()
    editor, request = asks(user, call("FetchURL", "c1", url="http://docs.invalid/"), "text: done")
    assert user.sould("approve", request, "--always").returncode == 0
    ended(editor)
    own = user.config / "rules.toml"
    own.write_text('# mine\n[[rule]]\ndecision = "deny"\ntool = "fetch"\nargv = ["evil.example"]\n')
    own.chmod(0o600)
    assert [(each["scope"], each["decision"], each["about"], each["line"]) for each in rules(user)["rules"]] == [
        ("always", "allow", "fetch docs.invalid", 3),
        ("user", "deny", "fetch evil.example", 2),
    ]
    assert user.sould("rules", "forget", "all").stdout == "1 answer forgotten.\n"
    assert [each["scope"] for each in rules(user)["rules"]] == ["user"]


@pytest.mark.parametrize("name", ["remembered.toml", "rules.toml"])
def test_a_damaged_file_is_named_with_its_line_and_left_as_it_is(name: str, user: User) -> None:
    file = user.config / name
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text('[[rule]]\ndecision = "allow"\ntool = "everything"\n')
    file.chmod(0o600)
    for arguments in ((), ("forget", "all")):
        done = user.sould("rules", *arguments)
        if not arguments or name == "remembered.toml":
            assert done.returncode == 1
            assert f"{file}: rule 1 (line 1): tool: is one of" in done.stderr
    assert "everything" in file.read_text()

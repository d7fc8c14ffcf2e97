"""`sould sessions search|rename|archive|fork|prune`, with the real program and a scripted model."""

import json
import os
import re
from typing import Any

import pytest

from soultest.cliuser import User
from soultest.terminal import terminal


@pytest.fixture
def user(next_user: User) -> User:
    return next_user


def said(user: User, prompt: str, answer: str = "Done.") -> str:
    """A session with one turn."""
    user.scripted(f"text: {answer}")
    return str(user.result(prompt)["session_id"])


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_search_shows_which_session_when_and_what_was_said(user: User) -> None:
    wanted = said(user, "Mend the parser", "The tokenizer drops a line.")
    said(user, "Something else")
    done = user.sould("sessions", "search", "token", "mend")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith(wanted)
    assert "ago  Mend the parser" in line
    assert "The tokenizer drops a line." in line
    (found,) = lines(user.sould("sessions", "search", "--all", "--json", "tokenizer").stdout)
    assert found["session"]["id"] == wanted
    assert found["session"]["cwd"] == str(user.project)
    assert "tokenizer" in found["snippet"]
    nothing = user.sould("sessions", "search", "zebra")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "--all" in nothing.stderr
    assert user.sould("sessions", "search", " ").returncode == 2


def test_a_list_of_all_projects_says_what_git_has_checked_out(user: User) -> None:
    said(user, "Mend the fence")
    (user.project / ".git" / "HEAD").write_text("ref: refs/heads/fences\n")
    assert "  fences  Mend the fence" in user.sould("sessions", "list", "--all").stdout
    assert lines(user.sould("sessions", "list", "--json").stdout)[0]["branch"] == "fences"


def test_a_list_says_where_sessions_were_begun_and_can_be_of_one_such_place(user: User) -> None:
    session = said(user, "Mend the fence")
    [row] = lines(user.sould("sessions", "list", "--json").stdout)
    assert (row["id"], row["origin"]) == (session, "run")
    assert "  run  Mend the fence" in user.sould("sessions", "list").stdout
    done = user.sould("sessions", "list", "--origin", "editor")
    assert done.stdout == ""
    assert "Left out: 1 session of another origin.\n" in done.stderr
    assert session in user.sould("sessions", "list", "--origin", "run").stdout


def test_an_archived_session_is_hidden_until_asked_for_or_taken_back(user: User) -> None:
    session = said(user, "Mend the fence")
    assert user.sould("sessions", "rename", session, "Fences").returncode == 0
    done = user.sould("sessions", "archive", session)
    assert (done.returncode, done.stderr) == (0, "Archived: 1 session.\n")
    for command in (["list"], ["search", "fence"]):
        assert user.sould("sessions", *command).stdout == ""
        shown = user.sould("sessions", *command, "--archived").stdout
        assert "Fences  (archived)" in shown
        assert lines(user.sould("sessions", "list", "--archived", "--json").stdout)[0]["archived"] is True
    assert "Mend the fence" in user.sould("sessions", "show", session).stdout
    assert user.sould("sessions", "archive", "--undo", session).returncode == 0
    assert "Fences" in user.sould("sessions", "list").stdout
    assert user.sould("sessions", "archive", "nobody").returncode == 1


def test_a_session_whose_project_was_moved_goes_on_and_goes_back_in_a_fork(user: User) -> None:
    project, moved = user.project.with_name("another"), user.project.with_name("moved")
    project.mkdir()
    (project / "a.txt").write_text("old\n")
    user.scripted(
        'tool_call: {"id": "c", "name": "Shell", "arguments": "{\\"command\\": \\"echo new > a.txt\\"}"}', "text: Done."
    )
    ran = user.sould("run", "--yes", "-o", "json", "go", cwd=project)
    session = json.loads(ran.stdout)["session_id"]
    project.rename(moved)
    refused = user.sould("run", "--session", session, "go on", cwd=moved)
    assert "sould sessions fork" in refused.stderr
    fork = user.sould("sessions", "fork", session, "--cwd", str(moved)).stdout.strip()
    undone = user.sould("run", "--session", fork, "/undo", cwd=moved)
    assert "1 file restored" in undone.stdout, undone
    assert (moved / "a.txt").read_text() == "old\n"


def test_fork_prints_the_id_of_a_session_that_goes_on_by_itself(user: User) -> None:
    session = said(user, "Mend the roof", "It is mended.")
    done = user.sould("sessions", "fork")
    assert done.returncode == 0, done.stderr
    fork = done.stdout.strip()
    assert fork != session
    assert "It is mended." in user.sould("sessions", "show", fork).stdout
    user.scripted("text: The other way.")
    assert user.result("--session", fork, "Try the other way")["session_id"] == fork
    assert "The other way." not in user.sould("sessions", "show", session).stdout
    listed = {row["id"]: row["title"] for row in lines(user.sould("sessions", "list", "--json").stdout)}
    assert listed == {session: "Mend the roof", fork: "Mend the roof (fork)"}
    assert user.sould("sessions", "fork", "nobody").returncode == 1


def test_what_another_agent_keeps_is_listed_imported_and_gone_on_with(user: User) -> None:
    kept = user.home / ".claude" / "projects" / "-".join(re.split("[^A-Za-z0-9]", os.path.realpath(user.project)))
    kept.mkdir(parents=True)
    record = {"type": "user", "message": {"role": "user", "content": "Mend the fence"}}
    (kept / "one.jsonl").write_text(f"{json.dumps(record)}\nbroken\n")
    listed = user.sould("sessions", "import").stdout
    assert "Mend the fence" in listed
    assert user.sould("sessions", "import", "--from", "kimi").stdout == ""
    user.scripted("text: As you like.")
    done = user.sould("sessions", "import", str(kept / "one.jsonl"))
    assert done.stderr == "Imported 1 message of Claude Code. Passed over: lines that are no JSON (1).\n"
    assert user.result("--session", done.stdout.strip(), "Go on")["exit_code"] == 0
    assert "Mend the fence" in user.sould("sessions", "show", done.stdout.strip()).stdout
    refused = user.sould("sessions", "import", str(kept))
    assert refused.returncode != 0


def test_prune_shows_first_asks_and_leaves_other_files_alone(user: User) -> None:
    session = said(user, "Mend the well")
    (user.state / "sessions" / session / "output").write_bytes(b"x" * 5_000_000)
    only = ["prune", "--larger-than", "4M"]
    would = user.sould("sessions", *only, "--dry-run")
    assert would.returncode == 0, would.stderr
    assert would.stdout.startswith(session)
    assert "5.0 MB" in would.stdout
    assert would.stderr.startswith("1 session, 5.0 MB would be deleted.")
    unasked = user.sould("sessions", *only)
    assert unasked.returncode == 2
    assert "add --yes" in unasked.stderr
    with terminal(user, "sessions", *only) as person:
        person.expect("Delete 1 session, 5.0 MB?")
        person.type("n\n")
        person.read_to_end()
    assert "Mend the well" in user.sould("sessions", "list").stdout
    report = json.loads(user.sould("sessions", *only, "--yes", "--json").stdout)
    assert [(row["session"]["id"], row["size"] > 5_000_000) for row in report["removed"]] == [(session, True)]
    assert user.sould("sessions", "show", session).returncode == 1
    assert "nothing to delete" in user.sould("sessions", *only, "--yes").stderr


@pytest.mark.parametrize(
    "arguments", [[], ["--older-than", "30"], ["--older-than", "soon"], ["--larger-than", "5 apples"]]
)
def test_prune_refuses_a_rule_it_does_not_understand(arguments: list[str], user: User) -> None:
    done = user.sould("sessions", "prune", "--dry-run", *arguments)
    assert done.returncode == 2
    assert not done.stdout

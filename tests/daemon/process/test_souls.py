"""A session whose agent is none of ours: what the daemon does for every agent, and what it says of what this one cannot do."""

import base64
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from sould.daemon.launch import environment, publish
from sould.daemon.paths import ensure_private
from soultest import filesoul
from soultest.daemon import Bridge, Sould, fresh_sould, until
from soultest.pictures import png

ANSWERS = {"hello": "Hello from a file.", "wait": None, "go on": "Gone on.", "later": "Later."}
ITSELF = (
    "The agent of this session keeps its conversation itself: it cannot be looked into, compacted or taken back here."
)
NO_MODEL = "The agent of this session answers nothing beside its conversation."
NO_STEPS = "The agent of this session cannot be asked step by step, so it runs no flows and no loops."


class Daemons:
    """Daemons whose sessions answer from a file, one after another at one socket, as a service manager would start them."""

    def __init__(self, sould: Sould) -> None:
        self.sould = sould
        ensure_private(sould.paths.runtime)
        self._listener = publish(sould.paths)
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """The next one, which has the lock then."""
        line = [*filesoul.COMMAND, "--listen", str(self._listener)]
        surroundings = environment(self.sould.environment)
        self._started.append(subprocess.Popen(line, env=surroundings, cwd="/", pass_fds=[self._listener]))
        until(lambda: self.sould.owner, what="the daemon")

    def kill(self) -> None:
        """As `kill -9` does."""
        self.sould.kill9()
        self._started[-1].wait()

    def close(self) -> None:
        """End the last one; nobody listens any more."""
        os.close(self._listener)
        for process in self._started:
            process.terminate()
            process.wait(20)


@pytest.fixture(scope="module")
def daemons() -> Iterator[Daemons]:
    """One of them runs, and does so after each test."""
    with fresh_sould() as sould:
        sould.world.script(["text: from a model"])
        (sould.workspace / "answers.json").write_text(json.dumps(ANSWERS))
        with closing(Daemons(sould)) as daemons:
            daemons.start()
            yield daemons


class Editor:
    """A client with one session."""

    def __init__(self, sould: Sould, folder: str = "") -> None:
        self.bridge: Bridge = sould.acp()
        self._cwd = str(sould.workspace / folder)
        self.answers: dict[str, Any] = {}
        """By request, in the order in which they came."""
        self.session = ""
        self.options: list[str] = []

    def begin(self) -> None:
        """A new session."""
        begun = self.bridge.request("new", "session/new", cwd=self._cwd, mcpServers=[])["result"]
        self.session = begun["sessionId"]
        self.options = [option["id"] for option in begun["configOptions"]]

    def load(self, session: str) -> list[tuple[str, str]]:
        """Show a session that there is; what is replayed of it."""
        self.session = session
        self._send("load", "session/load", cwd=self._cwd, mcpServers=[])
        return self.until("load")

    def ask(self, text: str) -> list[tuple[str, str]]:
        """A prompt to its end; what was said meanwhile."""
        self.prompt(text)
        return self.until(text)

    def prompt(self, text: str, *further: Mapping[str, str]) -> None:
        """Ask for a turn; the text is the request's id."""
        self._send(text, "session/prompt", prompt=[{"type": "text", "text": text}, *further])

    def steer(self, text: str) -> None:
        """Add something to the running turn."""
        self._send("steer", "_session/steering", prompt=[{"type": "text", "text": text}])

    def cancel(self) -> None:
        """As a user does with a key."""
        self.bridge.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": self.session}})

    def until(self, identifier: str = "", said: str = "") -> list[tuple[str, str]]:
        """What users and the agent say until the answer to a request has come, or until something was said."""
        heard: list[tuple[str, str]] = []
        while identifier not in self.answers and (not said or said not in [text for _, text in heard]):
            line = self.bridge.line()
            assert line, "the stream ended"
            try:
                message = json.loads(line)
            except ValueError:
                continue  # cut off by a kill
            update = message.get("params", {}).get("update", {})
            if "method" not in message:
                self.answers[message["id"]] = message
            elif update.get("sessionUpdate") in ("user_message_chunk", "agent_message_chunk"):
                heard.append((update["sessionUpdate"].partition("_")[0], update["content"]["text"]))
        return heard

    def stopped(self, text: str) -> str:
        """How the turn of a prompt ended."""
        return self.answers[text]["result"]["stopReason"]

    def _send(self, identifier: str, method: str, **params: Any) -> None:
        params["sessionId"] = self.session
        self.bridge.send({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params})


@pytest.fixture
def editor(daemons: Daemons) -> Editor:
    """With a new session of the running daemon."""
    editor = Editor(daemons.sould)
    editor.begin()
    return editor


def test_prompts_wait_for_the_running_turn_which_takes_what_is_added(editor: Editor) -> None:
    editor.prompt("wait")
    assert ("agent", filesoul.ASKS) in editor.until(said=filesoul.ASKS)
    editor.prompt("hello")
    editor.steer("go on")
    said = [*editor.until("wait"), *editor.until("hello")]
    assert [text for by, text in said if by == "agent"] == ["Gone on.", "Hello from a file."]
    assert editor.answers["steer"]["result"]["outcome"] == "injected"
    assert list(editor.answers)[-2:] == ["wait", "hello"]
    assert editor.stopped("wait") == editor.stopped("hello") == "end_turn"


def test_a_cancel_ends_the_turn_and_the_next_prompt_is_answered(editor: Editor) -> None:
    editor.prompt("wait")
    editor.until(said=filesoul.ASKS)
    editor.cancel()
    editor.until("wait")
    assert editor.stopped("wait") == "cancelled"
    assert ("agent", "Hello from a file.") in editor.ask("hello")


def test_another_client_is_shown_the_whole_conversation(daemons: Daemons, editor: Editor) -> None:
    editor.ask("hello")
    editor.prompt("wait")
    editor.until(said=filesoul.ASKS)
    editor.steer("go on")
    editor.until("wait")
    shown = [
        ("user", "hello"),
        ("agent", "Hello from a file."),
        ("user", "wait"),
        ("agent", filesoul.ASKS),
        ("user", "go on"),
        ("agent", "Gone on."),
    ]
    assert Editor(daemons.sould).load(editor.session) == shown


def test_after_a_kill_the_turn_is_interrupted_and_the_same_editor_goes_on(daemons: Daemons, editor: Editor) -> None:
    editor.ask("hello")
    editor.prompt("wait")
    editor.until(said=filesoul.ASKS)
    daemons.kill()
    daemons.start()
    editor.until("wait")
    assert editor.answers["wait"]["result"]["_meta"]["sould"]["kind"] == "interrupted"
    assert ("agent", "Later.") in editor.ask("later")
    replayed = Editor(daemons.sould).load(editor.session)
    assert [text for who, text in replayed if who == "user"] == ["hello", "wait", "later"]


def test_sessions_of_other_directories_have_our_own_agent(daemons: Daemons, editor: Editor) -> None:
    (daemons.sould.workspace / "own").mkdir()
    own = Editor(daemons.sould, "own")
    own.begin()
    assert ("agent", "from a model") in own.ask("hello")
    assert ("agent", "Hello from a file.") in editor.ask("hello")
    assert editor.options == ["mode"]
    assert {"agent", "model", "mode"} <= set(own.options)


def test_a_picture_that_the_agent_does_not_take_is_told(editor: Editor) -> None:
    editor.prompt("hello", {"type": "image", "data": base64.b64encode(png()).decode(), "mimeType": "image/png"})
    heard = editor.until("hello")
    assert any("A file takes no pictures" in text for _, text in heard)
    assert ("agent", "Hello from a file.") in heard


def test_after_a_planned_restart_the_same_agent_goes_on(daemons: Daemons, editor: Editor) -> None:
    editor.ask("hello")
    restarted = daemons.sould.cli("restart")
    assert restarted.returncode == 0, restarted.stderr
    assert ("agent", "Later.") in editor.ask("later")
    daemons.kill()
    daemons.start()


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("/compact", ITSELF),
        ("/context", ITSELF),
        ("/clear", ITSELF),
        ("/rewind", ITSELF),
        ("/undo", ITSELF),
        ("/loop 3 hello", NO_STEPS),
        ("/loop 3", NO_STEPS),
        ("/btw why", NO_MODEL),
    ],
)
def test_what_the_agent_cannot_do_is_refused_in_a_sentence(editor: Editor, command: str, answer: str) -> None:
    editor.ask("hello")
    assert ("agent", answer) in editor.ask(command)
    assert editor.stopped(command) == "end_turn"

"""The real daemon in front of the fault-injecting model server, and an ACP client that sees only what an editor sees."""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from soultest import llm
from soultest.daemon import PATIENCE, Bridge, Sould

Json: TypeAlias = dict[str, Any]

KEY = "sk-canary-5f0c1e7d9b"
"""The provider's key: no file, line or process list may show it."""

CONFIG = """\
default_model = "faulty"

[models.faulty]
provider = "server"
model = "test-model"
max_context_size = 100000
capabilities = ["image_in"]

[providers.server]
type = "openai_legacy"
base_url = "{url}"
api_key_env = "SOULD_TEST_KEY"

[loop_control]
max_steps_per_turn = 100
retry_first_wait_s = 0.01
retry_max_wait_s = 0.02
retry_jitter_s = 0.0
retry_after_max_s = 1.5

[sessions]
titles_by_model = false

[timeouts]
connect_s = 2.0
first_byte_s = 0.5
private_s = 0.5
progress_s = 0.5
"""


@dataclass(slots=True)
class Editor:
    """One ACP client of the real bridge with a session; answers every permission request in the way it was told."""

    sould: Sould
    bridge: Bridge
    session: str = ""
    answer: str = "allow_once"
    messages: list[Json] = field(default_factory=list[Json])
    _ids: int = 0

    def open(self) -> str:
        """Begin a session."""
        result = self.request("session/new", cwd=str(self.sould.workspace), mcpServers=[])
        assert "result" in result, result
        self.session = result["result"]["sessionId"]
        return self.session

    def send(self, method: str, identifier: str | None = None, **params: Any) -> None:
        """A request, or a notification without an id."""
        message: Json = {"jsonrpc": "2.0", "method": method, "params": params}
        self.bridge.send(message if identifier is None else {**message, "id": identifier})

    def request(self, method: str, **params: Any) -> Json:
        """A request and its answer, the whole object."""
        self._ids += 1
        identifier = f"{method}-{self._ids}"
        self.send(method, identifier, **params)
        return self.wait(lambda message: message.get("id") == identifier and "method" not in message)

    def begin(self, text: str, identifier: str) -> None:
        """Send a prompt and do not wait."""
        self.send("session/prompt", identifier, sessionId=self.session, prompt=[{"type": "text", "text": text}])

    def prompt(self, text: str) -> Json:
        """A turn and its answer."""
        return self.request("session/prompt", sessionId=self.session, prompt=[{"type": "text", "text": text}])

    def wait(self, found: Callable[[Json], bool], seconds: float = PATIENCE) -> Json:
        """The next message of this kind; permission requests on the way are answered."""
        deadline = time.monotonic() + seconds
        while True:
            line = self.bridge.line(max(0.1, deadline - time.monotonic()))
            assert line, "the stream ended"
            if not line.strip():
                continue  # the next daemon ends a line that may have been cut (D11)
            message: Json = json.loads(line)  # every line on standard output is a frame
            self.messages.append(message)
            if message.get("method") == "session/request_permission" and self.answer:
                self._permit(message)
            if found(message):
                return message

    def said(self) -> str:
        """Everything the agent said aloud."""
        return "".join(
            update["content"]["text"] for update in self.updates if update["sessionUpdate"] == "agent_message_chunk"
        )

    @property
    def updates(self) -> list[Json]:
        """All updates so far."""
        return [each["params"]["update"] for each in self.messages if each.get("method") == "session/update"]

    def _permit(self, message: Json) -> None:
        options = message["params"]["options"]
        chosen = next(option["optionId"] for option in options if option["kind"] == self.answer)
        outcome = {"outcome": {"outcome": "selected", "optionId": chosen}}
        self.bridge.send({"jsonrpc": "2.0", "id": message["id"], "result": outcome})


@dataclass(slots=True)
class Faulty:
    """A running daemon whose only model is the fault server."""

    sould: Sould
    url: str
    pid: int
    """The daemon's; a test that kills it says who came next."""
    asked_before: int = 0
    """Requests of the model server that are none of this test's."""

    def editor(self) -> Editor:
        """A client with a session of its own."""
        editor = Editor(self.sould, self.sould.acp(env={"SOULD_TEST_KEY": KEY}))
        editor.open()
        return editor

    def requests(self) -> list[Json]:
        """What the model server was asked so far."""
        return asked_of(self.url)[self.asked_before :]

    def shows_key(self) -> list[Path]:
        """Files below the user's HOME in which the key stands."""
        files = (path for path in self.sould.world.root.rglob("*") if path.is_file())
        return [path for path in files if KEY.encode() in path.read_bytes()]


@contextmanager
def model_server() -> Generator[str]:
    """The fault-injecting model server as a process; its base URL."""
    command = [sys.executable, "-m", "soultest.llm", "--port", "0"]
    support = str(Path(llm.__file__).parent.parent)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": support}) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def asked_of(url: str) -> list[Json]:
    """What the model server was asked so far."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/requests") as answer:
        return json.load(answer)


@contextmanager
def faulty_daemon(sould: Sould, more: str = "") -> Generator[Faulty]:
    """Start both, `more` added to the configuration; when the block is left the five things that hold after every fault hold."""
    with model_server() as url:
        folder = Path(sould.environment["XDG_CONFIG_HOME"], "sould")
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(CONFIG.format(url=url) + more)
        faulty = Faulty(sould, url, sould.start())
        canary = sould.canary()
        yield faulty
        sould.assert_healthy(faulty.pid, canary)

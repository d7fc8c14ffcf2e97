"""Two clients of different protocols that review the same file: what each sees, and a user who does things at random in both."""

import random
from pathlib import Path
from typing import Any

from tests.acp.server.test_review import CHANGED

from soultest.acpclient import AcpClient
from soultest.lspclient import LspClient

Json = dict[str, Any]
Seen = dict[str, list[tuple[int, str, int]]]
"""The hunks of each file: their ids, digests and first lines."""


class Eye:
    """What one client knows of what is pending, from what it was told since it subscribed."""

    def __init__(self, client: AcpClient | LspClient, cwd: Path) -> None:
        self.client = client
        self._cwd = str(cwd)
        self._known: Json = {}
        self._read = 0
        """Of the messages of the daemon."""

    async def opens(self) -> None:
        """It subscribes."""
        await self._take_all("_sould/review/subscribe")

    async def begins_again(self) -> None:
        """It is told that it may have missed something, and lists."""
        await self.client.wait_for(lambda _: any(each.get("everything") for each in self._news()))
        await self._take_all("_sould/review/list")

    async def _take_all(self, method: str) -> None:
        answer = await self.client.request(method, cwd=self._cwd)
        self._read = next(n for n, each in enumerate(self.client.messages) if each.get("result") is answer) + 1
        self._known = {file["path"]: file["hunks"] for file in answer["files"]}

    def sees(self) -> Seen:
        """The hunks of each file."""
        for news in self._news():
            assert not news.get("everything")
            assert not news.get("others")
            self._known |= {file["path"]: file["hunks"] for file in news["files"]}
        self._read = len(self.client.messages)
        return seen(self._known)

    async def catches_up(self, wanted: Seen) -> None:
        """It sees this."""
        await self.client.wait_for(lambda _: self.sees() == wanted)

    def _news(self) -> list[Json]:
        later = self.client.messages[self._read :]
        return [each["params"] for each in later if each.get("method") == CHANGED]


class User:
    """Does something at random in one client or the other."""

    def __init__(
        self, seed: int, path: Path, editor: LspClient, uri: str, clients: list[AcpClient | LspClient]
    ) -> None:
        self._random = random.Random(seed)
        self._path = path
        self._editor = editor
        self._uri = uri
        self._clients = clients
        self._known: list[int] = []
        self._saved = True
        self.typed: list[str] = []

    async def step(self) -> None:
        """One thing."""
        what = self._random.choice(("keep", "reject", "undo", "type", "type", "save", "lines"))
        if what == "type":
            self.type()
        elif what == "save":
            self.save()
        else:
            await self._decide(what, self._random.choice(self._clients))
            self.reload()

    def type(self) -> None:
        """A line anywhere."""
        lines = self._editor.buffers[self._uri].text.splitlines(keepends=True)
        at = sum(map(len, lines[: self._random.randint(0, len(lines))]))
        self.typed.append(f"typed {len(self.typed)}\n")
        self._saved = False
        self._editor.replace(self._uri, at, at, self.typed[-1])

    def save(self) -> None:
        """Save the file in the editor."""
        self._editor.save(self._uri, self._path)
        self._saved = True

    def reload(self) -> None:
        """The editor shows what is on disk, as editors do with what is saved in them."""
        buffer, there = self._editor.buffers[self._uri].text, self._path.read_text()
        if self._saved and buffer != there:
            self._editor.replace(self._uri, 0, len(buffer), there)

    async def _decide(self, what: str, client: AcpClient | LspClient) -> None:
        cwd = str(self._path.parent)
        listed = await client.request("_sould/review/list", cwd=cwd)
        hunks = [hunk for file in listed["files"] for hunk in file["hunks"]]
        if what == "undo":
            chosen = [{"id": self._random.choice(self._known)}] if self._known else []
        else:
            chosen = [
                {"id": each["id"], "digest": each["digest"]} for each in self._random.sample(hunks, min(2, len(hunks)))
            ]
        if chosen:
            self._known += [each["id"] for each in chosen]
            more: Json = {"lines": [0, 1]} if what == "lines" and len(chosen) == 1 else {}
            verdict = self._random.choice(("keep", "reject")) if what == "lines" else what
            await client.request(f"_sould/review/{verdict}", cwd=cwd, hunks=chosen, **more)


def seen(files: Json) -> Seen:
    """What somebody sees to whom these hunks of each file are shown."""
    return {
        path: [(each["id"], each["digest"], each["start"]) for each in hunks] for path, hunks in files.items() if hunks
    }


async def listed(client: AcpClient | LspClient, cwd: Path) -> Seen:
    """What a client is answered that asks for all that is pending."""
    answer = await client.request("_sould/review/list", cwd=str(cwd))
    return seen({file["path"]: file["hunks"] for file in answer["files"]})

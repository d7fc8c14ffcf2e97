"""Two clients of different protocols keep, reject, take back and type in the same file: they see the same, and nothing typed is lost."""

import pytest
from tests.acp.server.test_review import edited, reviewer
from tests.editors.lsp.converging import Eye, User, listed

from soultest.acpclient import AcpClient
from soultest.bench import Bench
from soultest.bench.acp import Connect
from soultest.bench.lsp import ConnectEditor
from soultest.lspclient import FULL, LspClient

LINES = 240
EVERY = 4
STEPS = 200


def text(*, changed: bool) -> str:
    return "".join(f"{'agent' if changed and n % EVERY == 0 else 'line'} {n}\n" for n in range(LINES))


@pytest.mark.parametrize("seed", [1, 2])
async def test_two_clients_see_the_same_whatever_is_decided_and_typed(
    bench: Bench, connect: Connect, connect_editor: ConnectEditor, seed: int
) -> None:
    path = bench.project / "a.txt"
    await edited(bench, {"a.txt": (text(changed=False), text(changed=True))})
    async with bench.running(), reviewer(connect) as other, connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(path)
        clients: list[AcpClient | LspClient] = [other, editor]
        cwd = str(bench.project)
        eyes = [Eye(each, bench.project) for each in clients]
        for eye in eyes:
            await eye.opens()
        user = User(seed, path, editor, uri, clients)
        for _ in range(STEPS):
            await user.step()

        user.save()
        there = [await listed(each, bench.project) for each in (editor, other)]  # what was typed first
        assert there[0] == there[1]
        for eye in eyes:
            await eye.catches_up(there[0])
        assert path.read_text() == editor.buffers[uri].text
        assert set(user.typed) <= set(path.read_text().splitlines(keepends=True))

        await other.request("_sould/review/reject", cwd=cwd, all=True)
        user.reload()
        for eye in eyes:
            await eye.catches_up({})
        base = (await editor.request("_sould/review/base", path=str(path)))["text"]
        assert base == editor.buffers[uri].text
        assert set(user.typed) <= set(base.splitlines(keepends=True))

"""`sould mcp` and the MCP part of `sould status`, as a user sees them; one server through the real daemon."""

import asyncio
import json
import os
import re
import secrets
import signal
import sys
from pathlib import Path

import httpx2

from soultest.bench.mcp import SERVER, configure
from soultest.cliuser import User
from soultest.daemon import until
from soultest.editor import editor
from soultest.mcpremote import RENEWALS, remote
from soultest.processes import MARK, marked, until_gone
from soultest.terminal import HEARS_CTRL_C, terminal
from soultest.world import SOULD, call


def test_a_server_is_added_listed_tried_and_removed(user: User) -> None:
    added = user.sould("mcp", "add", "--env", "TOKEN=${HOME}", "box", "--", sys.executable, SERVER, "ok")
    assert added.returncode == 0, added.stderr
    file = user.config / "mcp.json"
    assert json.loads(file.read_text())["mcpServers"]["box"]["args"] == [SERVER, "ok"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert "box" in user.sould("mcp", "list").stdout
    tried = user.sould("mcp", "test", "box")
    assert tried.returncode == 0, tried.stderr
    assert "is connected and has 13 tools" in tried.stdout
    assert "echo" in tried.stdout
    assert user.sould("mcp", "remove", "box").returncode == 0
    assert "no MCP servers" in user.sould("mcp", "list").stdout


def test_adding_keeps_what_else_stands_in_the_file(user: User) -> None:
    configure(user.config / "mcp.json", {"other": {"command": "x", "theirs": 1}})
    user.sould("mcp", "add", "--transport", "sse", "--header", "X-A: b", "far", "http://127.0.0.1:9/sse")
    servers = json.loads((user.config / "mcp.json").read_text())["mcpServers"]
    assert servers["other"] == {"command": "x", "theirs": 1}
    assert servers["far"] == {"type": "sse", "url": "http://127.0.0.1:9/sse", "headers": {"X-A": "b"}}
    assert "X-A" not in user.sould("mcp", "list").stdout


def test_wrong_use_says_what_is_right(user: User) -> None:
    assert "either one URL" in user.sould("mcp", "add", "--transport", "http", "x", "--", "true").stderr
    assert "--header is for URLs" in user.sould("mcp", "add", "--header", "A: b", "x", "--", "true").stderr
    assert "is not a valid name" in user.sould("mcp", "add", "x y", "--", "true").stderr
    assert "is not the address" in user.sould("mcp", "add", "x", "ftp://x/y").stderr
    assert "starts with http:// or https://" in user.sould("mcp", "add", "x", "localhost:4000/mcp").stderr
    assert "starts with http:// or https://" in user.sould("mcp", "add", "x", "board.example/mcp").stderr
    assert "--env takes NAME=VALUE" in user.sould("mcp", "add", "--env", "a", "x", "--", "true").stderr
    assert "There is no server 'x'" in user.sould("mcp", "test", "x").stderr
    user.sould("mcp", "add", "x", "--", "no-such-program")
    failed = user.sould("mcp", "test", "x")
    assert failed.returncode == 1
    assert "no-such-program cannot be run" in failed.stderr
    assert "only remote servers have a sign-in" in user.sould("mcp", "auth", "x").stderr


def test_a_project_is_not_listed_before_it_is_trusted(user: User) -> None:
    configure(user.project / ".mcp.json", {"theirs": {"command": "true"}})
    listed = user.sould("mcp", "list")
    assert "theirs" not in listed.stdout
    assert "until you trust this project" in listed.stderr
    assert user.sould("trust").returncode == 0
    assert "theirs" in user.sould("mcp", "list").stdout


def test_a_turn_in_the_real_daemon_calls_a_server_and_status_shows_it(user: User) -> None:
    user.daemon.start()
    user.scripted(call("box__echo", "1", text="from the server"), "text: done", "text: more")
    configure(user.config / "mcp.json", {"box": {"command": sys.executable, "args": [SERVER, "ok"]}})
    result = user.result("--mode", "full", "call it")
    assert result["text"] == "done", result
    journals = list(Path(user.state).glob("sessions/*/wire.jsonl"))
    assert "from the server" in journals[0].read_text()
    shown = json.loads(user.sould("status", "--json").stdout)["mcp"]
    assert [(server["name"], server["state"], server["tools"]) for server in shown] == [("box", "connected", 13)]
    user.result("again", env={"COLOUR": "blue"})  # which has a server of its own, and is a line of the same
    (line,) = [line.split() for line in user.sould("status").stdout.splitlines() if line.startswith("  box ")]
    assert line[:3] == ["box", "×2", "connected"]  # noqa: RUF001 -- the sign is meant


async def test_a_removed_server_ends_at_once_also_in_a_session_that_is_open(user: User) -> None:
    user.scripted("text: one")
    user.daemon.start()
    configure(user.config / "mcp.json", {"box": {"command": sys.executable, "args": [SERVER, "ok"]}})
    async with editor(user.daemon.world) as (_, _session):
        assert [server["name"] for server in json.loads(user.sould("status", "--json").stdout)["mcp"]] == ["box"]
        assert user.sould("mcp", "remove", "box").returncode == 0
        assert json.loads(user.sould("status", "--json").stdout)["mcp"] == []
    user.sould("mcp", "add", "box", "--", sys.executable, SERVER, "ok")
    user.result("hello")
    assert user.sould("mcp", "remove", "box").returncode == 0
    assert json.loads(user.sould("status", "--json").stdout)["mcp"] == []


def test_the_sign_in_is_forgotten_on_demand(user: User) -> None:
    user.sould("mcp", "add", "far", "http://127.0.0.1:9/mcp")
    assert "There is no sign-in" in user.sould("mcp", "reset-auth", "far").stdout


async def signing_in(user: User) -> tuple[asyncio.subprocess.Process, str]:
    """A sign-in that waits for its user, and the page they are to open."""
    signing = await asyncio.create_subprocess_exec(
        *HEARS_CTRL_C, str(SOULD), "mcp", "auth", "far", "--no-browser",
        env=user.environment, cwd=user.project, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert signing.stderr is not None
    page = ""
    while not page.startswith("http"):
        line = await signing.stderr.readline()
        assert line, await signing.communicate()
        page = line.decode().strip()
    return signing, page


async def test_a_sign_in_that_is_broken_off_leaves_nothing_behind(user: User) -> None:
    async with remote("oauth", user.home) as url:
        user.sould("mcp", "add", "far", url)
        for ending in (signal.SIGINT, signal.SIGKILL):
            broken_off, _ = await signing_in(user)
            broken_off.send_signal(ending)
            _, complaint = await broken_off.communicate()
            assert b"Traceback" not in complaint
        refused = await asyncio.to_thread(user.sould, "mcp", "test", "far")
        assert "sould mcp auth far" in refused.stderr
        assert refused.stderr.count("\n") == 1, refused.stderr
        assert "signed in" not in user.sould("mcp", "list").stdout


async def test_signing_in_with_a_browser_makes_the_server_usable_until_it_is_forgotten(user: User) -> None:
    user.daemon.start()
    async with remote("oauth", user.home) as url:
        user.sould("mcp", "add", "far", url)
        signing, page = await signing_in(user)
        async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            back = str(httpx2.URL(page).params["redirect_uri"])
            forged = await browser.get(back, params={"code": "theirs", "state": "theirs"})
            denied = await browser.get(f"{back}/else")
            reached = await browser.get(page)
        assert [answer.status_code for answer in (forged, denied, reached)] == [400, 404, 200]
        assert "sould can use far now" in reached.text
        for answer in (forged, denied, reached):
            assert "//" not in answer.text  # no address of anything
            assert "default-src 'none'" in answer.headers["content-security-policy"]
        said, _ = await signing.communicate()
        assert b"Signed in to far" in said
        kept = list((user.state / "mcp-sign-ins").glob("*.json"))
        assert [file.stat().st_mode & 0o777 for file in kept] == [0o600]
        assert "signed in" in user.sould("mcp", "list").stdout
        first = access_token(kept[0])
        user.sould("mcp", "add", "near", url)
        calls = call("far__greet", "1", name="Ada") + "\n" + call("near__greet", "2", name="Bea")
        user.daemon.world.script([calls, "text: done"], "[mcp.client]\nturn_wait_ms = 30000\n")
        let_expire(kept[0])
        assert (await asyncio.to_thread(user.result, "--mode", "full", "greet"))["text"] == "done"
        assert len(re.findall('"output":"hello (?:Ada|Bea)', journals(user))) == 2
        assert (user.home / RENEWALS).read_text() == "renewed\n"  # once for both: a token that comes again is refused
        second = access_token(kept[0])
        assert second != first  # renewed, without anybody
        kept[0].write_text(kept[0].read_text().replace(second, "refused-by-the-server"))
        assert (await asyncio.to_thread(user.result, "--mode", "full", "greet again"))["text"] == "done"
        assert len(re.findall('"output":"hello (?:Ada|Bea)', journals(user))) == 4
        assert (user.home / RENEWALS).read_text() == "renewed\n" * 2
        assert not [path for path in files_with(user.home, access_token(kept[0])) if path != kept[0]]
        assert "Removed" in user.sould("mcp", "reset-auth", "far").stdout


def test_a_form_of_a_server_is_filled_in_at_the_terminal_as_its_types_say(user: User) -> None:
    user.daemon.start()
    configure(user.config / "mcp.json", {"box": {"command": sys.executable, "args": [SERVER, "rich"]}})
    user.scripted(
        call("box__form", "1"),
        "text: Ordered.",
        call("box__form", "2"),
        "text: No.",
        call("box__form", "3"),
        "text: Late.",
    )
    with terminal(user, "run", "--mode", "full", "order") as screen:
        screen.expect("Tell us.")
        screen.expect("E-mail\r\n")
        screen.type("")
        screen.expect("E-mail is required.")
        screen.type("nobody")
        screen.expect("this is not an e-mail address")
        screen.type("ada@example.org")
        screen.expect("How many [3]")
        screen.type("")
        screen.expect("Wrap it [No] (optional)")
        screen.type("yes")
        screen.expect("Day: When it should come. (optional)")
        screen.type("2026-11-22")
        screen.expect("[1] Small  [2] Large")
        screen.type("2")
        for title in ("Extras", "Voucher token", "Discount code"):
            screen.expect(f"{title} (optional)")
            screen.type("")
        screen.read_until("continue:")
    given = {"mail": "ada@example.org", "count": 3, "gift": True, "day": "2026-11-22", "size": "l"}
    assert heard(user) == [{"action": "accept", "content": given}]
    assert screen.seen.count("Type no password") == 1
    with terminal(user, "run", "--continue", "--mode", "full", "again") as screen:
        screen.expect("E-mail\r\n")
        screen.type("/decline")
        screen.read_until("continue:")
    assert heard(user)[1:] == [{"action": "decline"}]
    with terminal(user, "run", "--continue", "--mode", "full", "again") as screen:
        screen.expect("E-mail\r\n")
        (waits,) = re.findall(r"→ sould answer (\w+)", user.sould("status").stdout)
        unfit = user.sould("answer", waits, "nobody", "3", "", "", "", "", "", "")
        assert "E-mail: this is not an e-mail address." in unfit.stderr
        with terminal(user, "answer", waits) as other:
            for typed in ("bea@example.org", "7", "no", "", "1", "1", "", ""):
                other.expect("  > ")
                other.type(typed)
            assert other.wait() == 0
        screen.read_until("continue:")
    given = {"mail": "bea@example.org", "count": 7, "gift": False, "size": "s", "extras": ["card"]}
    assert heard(user)[2:] == [{"action": "accept", "content": given}]


def heard(user: User) -> list[dict[str, object]]:
    """What the server was answered, in order."""
    (journal,) = user.state.glob("sessions/*/wire.jsonl")
    results = [json.loads(line).get("message", {}) for line in journal.read_text().splitlines()]
    outputs = [each["payload"]["return_value"]["output"] for each in results if each.get("type") == "ToolResult"]
    return [json.loads(output) for output in outputs]


def test_killing_the_daemon_leaves_no_server_behind(user: User) -> None:
    user.daemon.start()
    user.scripted(call("box__echo", "1", text="hello"), "text: done")
    mark = secrets.token_hex(6)
    box = {"command": sys.executable, "args": [SERVER, "ignore_eof"], "env": {MARK: mark}}
    configure(user.config / "mcp.json", {"box": box})
    assert user.result("--mode", "full", "call it")["text"] == "done"
    until(lambda: len(marked(mark)) == 2)
    os.kill(json.loads(user.sould("status", "--json").stdout)["pid"], signal.SIGKILL)
    assert until_gone(mark, 10) == []


def test_what_changes_between_trust_and_the_first_session_is_not_started(user: User) -> None:
    user.daemon.start()
    server = user.project / "server.py"
    server.write_text(Path(SERVER).read_text())
    configure(user.project / ".mcp.json", {"mine": {"command": sys.executable, "args": ["server.py", "ok"]}})
    assert user.sould("trust").returncode == 0
    server.write_text(server.read_text() + "\n")
    user.scripted(call("mine__echo", "1", text="hello there"), "text: done")
    told = user.sould("mcp", "list")
    assert "mine" not in told.stdout
    assert "changed since you trusted this project (server.py)" in told.stderr
    assert user.result("--mode", "full", "call it")["text"] == "done"
    assert "`mine__echo` not found" in journals(user)
    assert "server.py" in user.sould("trust").stdout
    assert user.result("--mode", "full", "call it")["text"] == "done"
    assert '"output":"hello there"' in journals(user)


def let_expire(file: Path) -> None:
    """The access token of a sign-in is over; what renews it is not."""
    entries = json.loads(file.read_text())
    expiries = [entry["value"] for entry in entries.values() if "expires_at" in entry["value"]]
    assert expiries
    for each in expiries:
        each["expires_at"] = 1.0
    file.write_text(json.dumps(entries))


def access_token(file: Path) -> str:
    """What a sign-in gave."""
    found = re.search(r'"access_token": ?"([^"]+)"', file.read_text())
    assert found is not None
    return found[1]


def files_with(root: Path, secret: str) -> list[Path]:
    """Where it stands: in the private file and nowhere else."""
    return [path for path in root.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def journals(user: User) -> str:
    """All journals of the user."""
    return "".join(path.read_text() for path in user.state.glob("sessions/*/wire.jsonl"))

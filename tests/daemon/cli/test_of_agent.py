"""What an agent runs does not answer for the user: not its own requests, not in an editor's place, not what is trusted."""

import json
import shlex
import sys

import pytest

from soultest.cliuser import User
from soultest.faulty import Editor
from soultest.world import SOULD, call

ASKED = f"""
import json, os, signal, socket, subprocess, sys, time
def sould(*words, **more):
    return subprocess.run([{str(SOULD)!r}, *words], capture_output=True, text=True, **more)
status = json.loads(sould("status", "--json").stdout)
[(request, session)] = [(each["id"], of["id"]) for of in status["sessions"] for each in of["waiting"]]
"""
WHO_CONNECTED_IS_GONE = """
from sould.daemon.dial import send, try_connect
from sould.daemon.hello import PROTOCOL, VERSION, encode
from sould.daemon.paths import Paths
daemon = try_connect(Paths(dict(os.environ)))
fields = {"protocol": "%d-%d" % PROTOCOL, "version": VERSION, "face": "control", "pid": "1", "token": "ab" * 16, "cwd": "/"}
send(daemon, encode([(name.encode(), value.encode()) for name, value in fields.items()]), ())
gone = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == gone:
    time.sleep(0.01)
asked = {"jsonrpc": "2.0", "id": 1, "method": "_sould/daemon/sessions/cancel", "params": {"id": session}}
daemon.sendall(json.dumps(asked).encode() + b"\\n")
answer = b""
while b'"id":1' not in answer and (more := daemon.recv(65536)):
    answer += more
print(answer.decode())
"""
THE_GUARD_IS_KILLED = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.kill(status["guard_pid"], signal.SIGKILL)
        said = sould("approve", request).stderr
        with open("draft", "w") as file:
            file.write(said)
        os.rename("draft", "said")
    os._exit(0)
while not os.path.exists("said"):
    time.sleep(0.01)
print(open("said").read())
"""
AS_AN_EDITOR = """
print(sould("run", "-S", session, "/yolo").stderr)
"""
A_SESSION_OF_ITS_OWN = """
print(sould("run", "--yes", "touch it").stderr)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says who started a process")
@pytest.mark.parametrize(
    "attempt",
    [WHO_CONNECTED_IS_GONE, THE_GUARD_IS_KILLED, AS_AN_EDITOR, A_SESSION_OF_ITS_OWN],
    ids=["peer gone", "guard killed", "editor", "own session"],
)
def test_a_script_of_the_agent_approves_nothing(user: User, attempt: str) -> None:
    user.scripted(call("Shell", "c1", command="touch owned"), "text: Done.")
    editor = Editor(user.daemon, user.daemon.acp(), answer="")
    editor.open()
    editor.begin("go", "turn")
    editor.wait(lambda message: message.get("method") == "session/request_permission")
    (user.project / "script.py").write_text(ASKED + attempt)
    user.scripted(call("Shell", "c2", command=f"{sys.executable} script.py 2>&1"), "text: Done.")
    other = Editor(user.daemon, user.daemon.acp())
    other.open()
    other.request("session/set_config_option", sessionId=other.session, configId="mode", value="full")
    assert other.prompt("go")["result"]["stopReason"] == "end_turn"
    told = json.dumps(other.updates) + "".join(path.read_text() for path in user.project.glob("said"))
    assert "cannot answer for you" in told or "would answer for you" in told
    [waiting] = [each for each in json.loads(user.sould("status", "--json").stdout)["sessions"] if each["waiting"]]
    assert waiting["id"] == editor.session
    assert waiting["mode"] == "ask"
    assert not (user.project / "owned").exists()


NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc", "--")
"""As container wrappers run a program: it sees no process that started it."""
ELSEWHERE = ("env", "-u", "XDG_RUNTIME_DIR", *NAMESPACE)
"""And no socket of ours where it looks for one, as in a container that has the home directory alone."""
DECISIONS = (
    "trust --yes",
    "trust --restrict",
    "mcp add x -- y",
    "mcp remove old",
    "rules forget all",
    "login kimi --file",
    "logout kimi",
)


@pytest.mark.needs_root
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has these namespaces")
@pytest.mark.parametrize("wrapper", [NAMESPACE, ELSEWHERE], ids=["namespace", "namespace without our socket"])
def test_no_namespace_hides_that_an_agent_decides_for_the_user(user: User, wrapper: tuple[str, ...]) -> None:
    assert user.sould("mcp", "add", "old", "--", "z").returncode == 0
    script = "".join(f"echo key | {shlex.join(wrapper)} {SOULD} {words} 2>&1\n" for words in DECISIONS)
    (user.project / "script.sh").write_text(script)
    user.scripted(call("Shell", "c1", command="bash script.sh > said.txt"), "text: Done.")
    assert user.sould("run", "--mode", "full", "go").returncode == 0
    said = (user.project / "said.txt").read_text().splitlines()
    assert len(said) == len(DECISIONS), said
    assert all(line.startswith("sould: Nothing was changed: ") for line in said), said
    assert "is not trusted" in user.sould("trust", "--show").stdout
    assert list(json.loads((user.config / "mcp.json").read_text())["mcpServers"]) == ["old"]
    assert not (user.state / "credentials.json").exists()


@pytest.mark.needs_root
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has these namespaces")
def test_the_user_decides_in_a_container_of_theirs_and_is_told_where_nobody_can_tell(user: User) -> None:
    assert user.sould("trust", "--yes", prefix=ELSEWHERE).returncode == 0, "no daemon runs"
    with user.daemon.control(start=True):
        assert user.sould("trust", "--forget", prefix=NAMESPACE).returncode == 0
        refused = user.sould("trust", "--yes", prefix=ELSEWHERE)
        assert refused.returncode == 1
        assert f"a daemon uses {user.state} and cannot be reached" in refused.stderr
        assert "is not trusted" in user.sould("trust", "--show", prefix=ELSEWHERE).stdout
    user.daemon.kill9()
    assert user.sould("trust", "--yes", prefix=ELSEWHERE).returncode == 0, "a killed daemon uses nothing"


def test_a_script_of_the_agent_trusts_nothing(user: User) -> None:
    elsewhere = "env -u XDG_RUNTIME_DIR setsid"
    script = f"{SOULD} trust --yes 2>&1\n{elsewhere} {SOULD} trust --yes 2>&1\n{SOULD} mcp add x -- y 2>&1\n"
    script += f"{SOULD} rules forget all 2>&1\n"
    script += f"{SOULD} sessions delete --yes $({SOULD} sessions list --json | grep -o '01[0-9A-Z]\\{{24\\}}' | head -1) 2>&1\n"
    for command in ("prune --older-than 0h --yes", "archive $id", "fork $id", "search zebra"):
        script += f"id=$({SOULD} sessions list --json | grep -o '01[0-9A-Z]\\{{24\\}}' | head -1)\n"
        script += f"{SOULD} sessions {command} >>said.txt 2>&1\n"
    (user.project / "script.sh").write_text(script)
    user.scripted(call("Shell", "c1", command="bash script.sh"), "text: Done.")
    editor = Editor(user.daemon, user.daemon.acp())
    editor.open()
    editor.request("session/set_config_option", sessionId=editor.session, configId="mode", value="full")
    assert editor.prompt("go")["result"]["stopReason"] == "end_turn"
    said = json.dumps(editor.updates)
    assert "cannot decide for you what is trusted" in said
    assert "cannot decide for you which MCP servers" in said
    assert "cannot decide for you what is allowed" in said
    assert "or delete anything of yours" in said
    about_sessions = (user.project / "said.txt").read_text()
    assert about_sessions.count("or delete anything of yours") == 3, about_sessions
    assert "No session in" in about_sessions, "it may look"
    assert "is not trusted" in user.sould("trust", "--show").stdout
    assert user.sould("trust", "--yes").returncode == 0

"""`sould doctor`: one broken set-up each, and the advice that fixes it (D4)."""

import fcntl
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from soultest.cliuser import User


def assert_advice(finding: dict[str, str], level: str, text: str, fix: str) -> None:
    assert finding["level"] == level, finding
    assert text in finding["text"], finding
    assert fix in finding["fix"], finding


# --- directories and files --------------------------------------------------------------------------------------------


def test_a_runtime_directory_open_to_others_is_to_be_closed(user: User) -> None:
    user.runtime.mkdir(mode=0o755)
    assert_advice(user.finding("runtime directory"), "fail", "mode 0755", f"chmod 700 {user.runtime}")


def test_a_runtime_directory_that_is_a_link_is_to_be_removed(user: User, tmp_path: Path) -> None:
    user.runtime.symlink_to(tmp_path)
    assert_advice(user.finding("runtime directory"), "fail", "symbolic link", f"rm {user.runtime}")


def test_a_file_in_place_of_the_runtime_directory_is_to_be_moved(user: User) -> None:
    user.runtime.write_text("")
    assert_advice(user.finding("runtime directory"), "fail", "not a directory", f"mv {user.runtime}")


def test_a_runtime_directory_that_anybody_could_replace_is_refused(user: User) -> None:
    user.runtime.mkdir(mode=0o700)
    user.runtime.parent.chmod(0o777)
    assert_advice(user.finding("runtime directory"), "fail", "any user can replace", f"chmod o-w {user.runtime.parent}")


def test_a_missing_xdg_runtime_dir_is_named(user: User) -> None:
    found = user.finding("runtime directory", env={"XDG_RUNTIME_DIR": "/nowhere/at/all"})
    assert_advice(found, "warn", "XDG_RUNTIME_DIR=/nowhere/at/all does not exist", "Unset XDG_RUNTIME_DIR")


def test_a_state_directory_others_can_read_is_to_be_closed(user: User) -> None:
    user.state.mkdir(mode=0o755, parents=True)
    assert_advice(user.finding("state directory"), "warn", "other users can read", f"chmod 700 {user.state}")


def test_a_state_directory_that_cannot_be_written_is_named(user: User) -> None:
    found = user.finding("state directory", env={"XDG_STATE_HOME": "/proc/sys"})
    assert_advice(found, "fail", "/proc/sys cannot be written", "set XDG_STATE_HOME")


def test_a_configuration_with_keys_that_others_can_read_is_to_be_closed(user: User) -> None:
    path = user.configure(
        '[providers.mine]\ntype = "openai"\nbase_url = "http://127.0.0.1:9/v1"\napi_key = "k"\n', mode=0o644
    )
    assert_advice(user.finding("file modes"), "warn", "mode 0644", f"chmod 600 {path}")


@pytest.mark.needs_root
def test_a_full_disk_is_named_with_what_can_be_deleted(user: User) -> None:
    user.state.parent.mkdir(exist_ok=True)
    mount = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64k none "$XDG_STATE_HOME" && exec "$@"', "sh")
    disk = user.finding("disk", prefix=mount)
    assert_advice(disk, "fail", "left", "sould sessions prune --older-than 30d")


# --- the daemon ---------------------------------------------------------------------------------------------------------


def test_a_socket_without_a_listener_mends_itself(user: User) -> None:
    user.runtime.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(user.runtime / "sock"))
    found = user.finding("daemon")
    (user.runtime / "sock").unlink()
    assert_advice(found, "warn", "left behind by a daemon that died", "fixes it by itself")


def test_a_file_in_place_of_the_socket_is_named(user: User) -> None:
    user.runtime.mkdir(mode=0o700)
    (user.runtime / "sock").write_text("")
    found = user.finding("daemon")
    (user.runtime / "sock").unlink()
    assert_advice(found, "warn", "it is not a socket", f"rm {user.runtime}/sock")


def test_a_daemon_that_never_answers_is_to_be_restarted(user: User) -> None:
    user.runtime.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(user.runtime / "sock"))
        deaf.listen()
        found = user.finding("daemon")
        (user.runtime / "sock").unlink()
    assert_advice(found, "fail", "does not answer", "sould restart --force")


def test_a_session_another_process_holds_is_named_with_its_pid(user: User) -> None:
    directory = user.state / "sessions/01HELD"
    directory.mkdir(parents=True)
    user.state.chmod(0o700)
    with (directory / "wire.jsonl").open("w") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        found = user.finding("sessions")
    assert_advice(found, "warn", f"Session 01HELD is held by process {os.getpid()}", f"kill {os.getpid()}")


# --- installation -------------------------------------------------------------------------------------------------------


def test_sould_missing_from_path_gives_its_full_path(user: User) -> None:
    found = user.finding("path", env={"PATH": "/nowhere"})
    assert_advice(found, "warn", "not in PATH", str(Path(sys.executable).with_name("sould")))


def test_an_old_sould_in_path_is_named_with_its_version(user: User, tmp_path: Path) -> None:
    old = tmp_path / "old" / "sould"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho sould 0.0.1\n")
    old.chmod(0o755)
    found = user.finding("path", env={"PATH": f"{old.parent}:{user.environment['PATH']}"})
    assert_advice(found, "warn", f"sould 0.0.1 at {old}", "sould restart")


@pytest.mark.parametrize(("program", "advice"), [("git", "Install git"), ("bash", "Install bash")])
def test_a_missing_program_is_named(user: User, program: str, advice: str) -> None:
    assert_advice(user.finding(program, env={"PATH": "/nowhere"}), "warn", f"{program} is not in PATH", advice)


def test_a_missing_keyring_says_where_keys_will_go(user: User) -> None:
    assert_advice(user.finding("keyring"), "warn", "no system keyring", "0600")


def test_too_few_open_files_are_named(user: User) -> None:
    limits = user.finding("limits", prefix=("sh", "-c", 'ulimit -n 100; exec "$@"', "sh"))
    assert_advice(limits, "warn", "only 100 files", "ulimit -n")


def test_a_missing_home_is_named(user: User, tmp_path: Path) -> None:
    environment = {
        "HOME": str(tmp_path / "gone"),
        "XDG_STATE_HOME": str(user.state),
        "XDG_CONFIG_HOME": str(user.config),
    }
    assert_advice(user.finding("home", env=environment), "fail", "does not exist", "Set HOME")


# --- configuration, models, network -------------------------------------------------------------------------------------


def provider(url: str, key: str = "sk-wrong-and-secret") -> str:
    return f"""
default_model = "mine"
[models.mine]
provider = "server"
model = "m"
max_context_size = 100000
[providers.server]
type = "openai"
base_url = "{url}"
api_key = "{key}"
"""


@contextmanager
def http_server(
    status: int, body: bytes, *, content: str = "application/json", skew_s: float = 0, prompted: int = 0
) -> Generator[str]:
    """A model server that always says the same, to prompts with the status `prompted`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.say(status)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.say(prompted)

        def say(self, status: int) -> None:
            self.send_response_only(status)
            self.send_header("Date", formatdate(skew_s + time.time(), usegmt=True))
            self.send_header("Content-Type", content)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class names it so
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_no_model_lists_the_ways_to_get_one(user: User) -> None:
    assert_advice(user.finding("models"), "fail", "No model", "sould login")


def test_an_address_without_a_key_is_named(user: User) -> None:
    address = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    findings = user.doctor("models", env=address)
    assert_advice(
        findings[0], "warn", "OPENAI_BASE_URL is not used", "Write the server and its model into the configuration"
    )
    assert "OPENAI_API_KEY is not set" in user.result("go", env=address)["error"]["message"]


def test_broken_toml_gives_the_line(user: User) -> None:
    path = user.configure('default_model = "a"\n[models\n')
    assert_advice(user.finding("configuration"), "fail", f"{path}", "line 2")


def test_an_unknown_key_gives_the_nearest_one(user: User) -> None:
    user.configure('defualt_model = "a"\n')
    assert_advice(user.finding("configuration"), "fail", "defualt_model", "default_model")


def test_a_refused_key_is_named_without_showing_it(user: User) -> None:
    with http_server(401, b'{"error":{"message":"bad key sk-wrong-and-secret"}}') as url:
        user.configure(provider(url))
        done = user.sould("doctor", "models", "--json", "--timeout", "2")
    found = next(f for f in json.loads(done.stdout) if f["level"] == "fail")
    assert_advice(found, "fail", "refuses its key (401)", "sould login server")
    assert "sk-wrong-and-secret" not in done.stdout + done.stderr


def test_an_unreachable_server_is_named_with_its_url(user: User) -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    user.configure(provider(url))
    assert_advice(user.finding("models"), "fail", f"{url} cannot be reached", "base_url")


def test_a_web_page_in_place_of_a_model_server_is_named(user: User) -> None:
    with http_server(200, b"<html>log in</html>", content="text/html") as url:
        user.configure(provider(url))
        assert_advice(user.finding("models"), "fail", "not a model server", "/v1")


def test_a_wrong_clock_is_seen_by_the_server_s_date(user: User) -> None:
    with http_server(200, b'{"data":[{"id":"m"}]}', skew_s=86_400) as url:
        user.configure(provider(url))
        assert_advice(user.finding("clock"), "warn", "differs", "timedatectl")


def test_a_model_the_server_does_not_have_is_named(user: User) -> None:
    with http_server(200, b'{"data":[{"id":"other-model"}]}') as url:
        user.configure(provider(url))
        assert_advice(user.finding("models"), "warn", "does not list the model 'm'", "other-model")


def test_an_address_that_knows_neither_models_nor_prompts_is_named(user: User) -> None:
    with http_server(404, b'{"detail":"Not Found"}', prompted=404) as url:
        user.configure(provider(url))
        assert_advice(user.finding("models"), "fail", f"{url} is not the address of a model server", "/v1")


def test_a_server_that_only_takes_prompts_is_well(user: User) -> None:
    with http_server(404, b'{"detail":"model is required"}', prompted=422) as url:
        user.configure(provider(url))
        assert user.finding("models")["level"] == "ok"


def test_a_gateway_that_wants_a_key_is_named(user: User) -> None:
    with http_server(400, b'{"error":{"message":"No connected db."}}') as url:
        user.configure(provider(url, key=""))
        assert_advice(user.finding("models"), "fail", f"{url} wants a key (400)", "sould login server")


def test_a_working_server_is_well(user: User) -> None:
    with http_server(200, b'{"data":[{"id":"m"}]}') as url:
        user.configure(provider(url))
        assert user.finding("models")["level"] == "ok"


def test_a_dead_proxy_is_named(user: User) -> None:
    proxy = f"http://127.0.0.1:{closed_port()}"
    found = user.finding("network", env={"HTTPS_PROXY": proxy})
    assert_advice(found, "fail", f"HTTPS_PROXY={proxy} cannot be reached", "Unset HTTPS_PROXY")


def test_a_proxy_of_another_kind_is_named(user: User) -> None:
    found = user.finding("network", env={"all_proxy": "socks://127.0.0.1:1080"})
    assert_advice(
        found, "fail", "all_proxy names a proxy of the kind 'socks'; it must be", "Unset all_proxy or correct it"
    )


def test_a_proxy_s_password_is_not_shown(user: User) -> None:
    proxy = f"http://me:hunter2@127.0.0.1:{closed_port()}"
    found = user.finding("network", env={"HTTPS_PROXY": proxy})
    assert found["level"] == "fail"
    assert "hunter2" not in json.dumps(found)


def test_a_missing_certificate_file_is_named(user: User) -> None:
    found = user.finding("network", env={"SSL_CERT_FILE": "/nowhere/ca.pem"})
    assert_advice(found, "fail", "SSL_CERT_FILE names /nowhere/ca.pem, which cannot", "Unset or correct SSL_CERT_FILE")


def test_a_provider_type_that_cannot_work_is_named_with_its_models(user: User) -> None:
    user.configure(provider("http://127.0.0.1:9/v1").replace('type = "openai"', 'type = "vertexai"'))
    assert_advice(user.finding("models"), "fail", "Model 'mine'", "`type`")


# --- editors ------------------------------------------------------------------------------------------------------------


def zed(user: User, text: str) -> None:
    path = user.config.parent / "zed/settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_an_editor_that_calls_a_missing_sould_is_named(user: User) -> None:
    zed(user, '{ // mine\n "agent_servers": {"sould": {"command": "/gone/sould", "args": ["acp"],}},}')
    assert_advice(user.finding("editors"), "warn", "'/gone/sould', which does not exist", "zed/settings.json")


def test_an_editor_that_forgets_the_face_is_named(user: User) -> None:
    sould = Path(sys.executable).with_name("python3")
    link = user.home / "sould"
    link.symlink_to(sould)
    zed(user, json.dumps({"agent_servers": {"x": {"command": str(link), "args": []}}}))
    assert_advice(user.finding("editors"), "warn", 'without "acp"', '"args": ["acp"]')


def test_jetbrains_wants_a_full_path(user: User) -> None:
    path = user.home / ".jetbrains/acp.json"
    path.parent.mkdir()
    path.write_text('{"agent_servers": {"sould": {"command": "sould", "args": ["acp"]}}}')
    assert_advice(user.finding("editors"), "warn", "wants a full path", str(path))


def test_settings_that_are_no_json_are_named(user: User) -> None:
    zed(user, "{ nonsense")
    found = [f for f in user.doctor("editors") if f["check"] == "editors" and "cannot be read" in f["text"]]
    assert_advice(found[0], "warn", "zed/settings.json", "Fix that file")


def test_no_editor_points_at_setup(user: User) -> None:
    assert_advice(user.finding("editors"), "warn", "No editor", "sould setup")


def test_a_dead_mcp_server_is_named(user: User) -> None:
    zed(user, '{"context_servers": {"db": {"command": "no-such-program", "args": []}}}')
    assert_advice(user.finding("mcp"), "warn", "'db' cannot start, because 'no-such-program'", "Install it")


# --- the command itself -------------------------------------------------------------------------------------------------


def test_doctor_exits_1_only_when_something_does_not_work(user: User) -> None:
    assert user.sould("doctor").returncode == 1, "there is no model"
    with http_server(200, b'{"data":[{"id":"m"}]}') as url:
        user.configure(provider(url))
        done = user.sould("doctor")
    assert done.returncode == 0, done.stdout


def test_doctor_changes_nothing(user: User) -> None:
    before = sorted(user.home.rglob("*"))
    user.doctor()
    assert sorted(user.home.rglob("*")) == before


def test_the_language_servers_of_a_project_are_named(user: User) -> None:
    (user.project / "a.py").write_text("")
    program = user.project / ".venv" / "bin" / "ty"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin"}
    assert "ty (python) would be run" in user.finding("language servers", env=environment)["text"]
    assert user.sould("trust", env=environment).returncode == 0
    assert "Agents here can ask ty (python)" in user.finding("language servers", env=environment)["text"]

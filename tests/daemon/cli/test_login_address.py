"""`sould login ADDRESS`: any server that answers as OpenAI's does, tried before its key is kept."""

import json
import re
import threading
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from soultest.cliuser import User
from soultest.terminal import terminal

pytestmark = pytest.mark.usefixtures("offline")

KEY = "sk-right-0123456789"
WORD = {"choices": [{"index": 0, "delta": {"content": "red"}, "finish_reason": "stop"}]}


@contextmanager
def serving(*, lists: bool = True, answers: bool = True) -> Generator[str]:
    """A server that wants a key; `lists`: it says which models it has; `answers`: it has what prompts are sent to."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.say(200 if lists else 404, {"data": [{"id": "small", "context_length": 40_000}, {"id": "large"}]})

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if not answers:
                self.say(404, {"detail": "Not Found"})
            elif self.headers.get("Authorization") != f"Bearer {KEY}":
                self.say(401, {"error": {"message": "Incorrect API key provided"}})
            else:
                self.say(200, WORD, f"data: {json.dumps(WORD)}\n\ndata: [DONE]\n\n")

        def say(self, status: int, body: object, stream: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/event-stream" if stream else "application/json")
            self.end_headers()
            self.wfile.write((stream or json.dumps(body)).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- as the library has it
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def nothing_kept(user: User) -> bool:
    return not (user.state / "credentials.json").exists() and not (user.config / "config.toml").exists()


def test_a_server_at_any_address_is_tried_kept_and_used(user: User) -> None:
    with serving() as url:
        done = user.sould("login", f"{url}/chat/completions", "--model", "large", "--file", stdin=KEY)
        assert done.returncode == 0, done.stderr
        assert "local/large answers." in done.stderr
        config = tomllib.loads((user.config / "config.toml").read_text())
        assert config["providers"]["local"] == {"type": "openai_compatible", "base_url": url}
        assert config["default_model"] == "local/large"
        ran = user.sould("run", "hello")
        assert ran.stdout == "red\n", ran.stderr
    assert KEY not in done.stdout + done.stderr


def test_at_a_terminal_the_model_is_asked_for(user: User) -> None:
    with serving() as url, terminal(user, "login") as screen:
        screen.expect("Provider (kimi, openai, openrouter), or the address of another")
        screen.type(url)
        screen.expect("not shown; empty if it wants none")
        screen.type(KEY)
        screen.expect("Model (it has small, large) [small]")
        screen.type("")
        screen.expect("[y/N]")
        screen.type("y")
        screen.expect("local/small answers.")
        assert screen.wait() == 0
    model = tomllib.loads((user.config / "config.toml").read_text())["models"]["local/small"]
    assert model["max_context_size"] == 40_000


def test_a_key_that_is_refused_is_not_kept(user: User) -> None:
    with serving() as url:
        done = user.sould("login", url, "--file", stdin="sk-wrong-0123456789")
    assert done.returncode == 1
    assert "Nothing was stored." in done.stderr
    assert "answers." not in done.stderr
    assert nothing_kept(user)


def test_an_address_that_lists_models_but_answers_no_prompt_is_not_kept(user: User) -> None:
    with serving(answers=False) as url:
        done = user.sould("login", url, "--file", stdin=KEY)
    assert done.returncode == 1
    assert "Nothing was stored." in done.stderr
    assert nothing_kept(user)


def test_a_server_that_names_no_models_wants_one_named(user: User) -> None:
    with serving(lists=False) as url:
        done = user.sould("login", url, "--file", stdin=KEY)
        assert done.returncode == 2
        assert f"sould login {url} --model MODEL" in done.stderr
        assert nothing_kept(user)
        assert user.sould("login", url, "--model", "mine", "--file", stdin=KEY).returncode == 0
    assert "local/mine" in (user.config / "config.toml").read_text()


def test_a_key_of_a_known_service_is_kept_where_nobody_can_be_asked_about_it(user: User) -> None:
    done = user.sould("login", "openai", "--file", stdin=KEY)
    assert done.returncode == 0
    assert re.search(r"The key of openai is stored in .*\nBut \S+ did not answer: .*`sould doctor models`", done.stderr)
    assert "answers." not in done.stderr


@pytest.mark.parametrize("address", ["https://", "ftp://example.com/v1", "https://me:pass@example.com/v1"])
def test_what_is_no_address_of_a_server_is_refused(user: User, address: str) -> None:
    done = user.sould("login", address, stdin=KEY)
    assert done.returncode == 2
    assert "no address of a model server" in done.stderr

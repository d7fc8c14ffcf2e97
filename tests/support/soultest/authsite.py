"""A vendor on the loopback interface: an authorisation server with the device flow, and a model that takes its tokens.

Tokens expire for real by the server's own clock; a test sets how long they live, takes them back, or holds an answer.
"""

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

CLIENT = "sould-test-client"

CONFIG = """\
default_model = "acme-1"

[models.acme-1]
provider = "acme"
model = "acme-1"
max_context_size = 100000

[providers.acme]
type = "openai"
base_url = "{url}/v1"

[providers.acme.oauth]
device_authorization_url = "{url}/device"
token_url = "{url}/token"
client_id = "{client}"
scopes = ["chat", "offline"]

[loop_control]
retry_first_wait_s = 0.01
retry_max_wait_s = 0.02
retry_jitter_s = 0.0

[sessions]
titles_by_model = false
"""


@dataclass(slots=True)
class AuthSite:
    """The vendor. `asked`: forms that came to the authorisation server; `calls`: tokens the model was asked with."""

    port: int = 0
    lifetime: float | None = 3600.0
    """Of tokens given from now on."""
    code_lifetime: float = 600.0
    pending: list[str] = field(default_factory=list[str])
    """Errors to answer the next polls with, before the code counts as entered."""
    interval: float = 0.0
    trouble: int = 0
    """A status to answer renewals with instead of doing them."""
    says: str = "hello from acme"
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    calls: list[str] = field(default_factory=list[str])
    secrets: set[str] = field(default_factory=set[str])
    """Everything nobody may ever see."""
    _access: dict[str, float | None] = field(default_factory=dict[str, float | None])
    """Token to when it expires."""
    _refresh: set[str] = field(default_factory=set[str])
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    renewing: threading.Event = field(default_factory=threading.Event)
    """A renewal has come."""
    may_renew: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def config(self) -> str:
        """A configuration with this provider."""
        return CONFIG.format(url=self.url, client=CLIENT)

    @property
    def renewals(self) -> int:
        """How often somebody asked for a renewal."""
        return sum(form.get("grant_type") == "refresh_token" for form in self.asked)

    def revoke(self) -> None:
        """Tokens given so far open nothing any more; they can be renewed."""
        self._access.clear()

    def end(self) -> None:
        """The sign-in is over: nothing is renewed, either."""
        self._access.clear()
        self._refresh.clear()

    def sign_in(self) -> dict[str, Any]:
        """The answer with the tokens of somebody who has been through it."""
        return self._tokens()

    # --- answers: status and body ---

    def device(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """A device flow begins."""
        if form.get("client_id") != CLIENT:
            return 401, {"error": "invalid_client"}
        code = self._new("device-code")
        return 200, {
            "device_code": code,
            "user_code": "WDJB-MJHT",
            "verification_uri": f"{self.url}/enter",
            "verification_uri_complete": f"{self.url}/enter?code=WDJB-MJHT",
            "expires_in": self.code_lifetime,
            "interval": self.interval,
        }

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """A poll or a renewal."""
        if form.get("client_id") != CLIENT:
            return 401, {"error": "invalid_client"}
        if form.get("grant_type") == "refresh_token":
            self.renewing.set()
            self.may_renew.wait(20)
            if self.trouble:
                return self.trouble, {"error": "temporarily_unavailable"}
            with self._lock:
                if form["refresh_token"] not in self._refresh:
                    return 400, {"error": "invalid_grant", "error_description": f"no such {form['refresh_token']}"}
                self._refresh.remove(form["refresh_token"])  # they are good for once
                return 200, self._tokens()
        if form.get("device_code") not in self.secrets:
            return 400, {"error": "invalid_request"}
        if self.pending:
            return 400, {"error": self.pending.pop(0)}
        return 200, self._tokens()

    def chat(self, token: str) -> tuple[int, bytes]:
        """The model's answer to whoever comes with a good token."""
        self.calls.append(token)
        until = self._access.get(token, 0.0)
        if until is not None and until <= time.time():
            return 401, json.dumps({"error": {"message": f"bad token {token}"}}).encode()
        chunk = {"choices": [{"index": 0, "delta": {"content": self.says}, "finish_reason": "stop"}]}
        return 200, f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()

    def _tokens(self) -> dict[str, Any]:
        access, refresh = self._new("access-token"), self._new("refresh-token")
        self._access[access] = None if self.lifetime is None else time.time() + self.lifetime
        self._refresh.add(refresh)
        answer = {"access_token": access, "refresh_token": refresh, "token_type": "Bearer"}
        return answer if self.lifetime is None else answer | {"expires_in": self.lifetime}

    def _new(self, kind: str) -> str:
        self._count += 1
        secret = f"canary-{kind}-{self._count}-5d1f"
        self.secrets.add(secret)
        return secret


@contextmanager
def auth_site() -> Generator[AuthSite]:
    """The vendor, until the block is left."""
    site = AuthSite()
    site.may_renew.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, b'{"data":[{"id":"acme-1"},{"id":"kimi-for-coding"}]}')

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            if self.path == "/v1/chat/completions":
                status, said = site.chat(self.headers.get("authorization", "").removeprefix("Bearer "))
                self._answer(status, said, "text/event-stream" if status == 200 else "application/json")
                return
            form = {name: values[0] for name, values in parse_qs(body).items()}
            site.asked.append(form)
            status, answer = site.device(form) if self.path == "/device" else site.token(form)
            self._answer(status, json.dumps(answer).encode())

        def _answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the base's name
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        site.may_renew.set()
        server.shutdown()
        server.server_close()
        thread.join()

"""`sould setup EDITOR --check`: starts sould as that editor would, and waits for its first answer."""

import contextlib
import json
import os
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import IO, Literal, TypeAlias, cast

from pydantic import JsonValue

from sould.daemon.cli.output import one_line
from sould.daemon.cli.setup.format import Launch
from sould.daemon.cli.setup.jsonc import get

Json: TypeAlias = dict[str, JsonValue]
Frontend: TypeAlias = Literal["acp", "lsp"]

PATIENCE_S = 30.0
LEAVING_S = 5.0
MOST_BYTES = 1024 * 1024


class CheckError(Exception):
    """It does not work; the text is a clause that says why."""


def answers(launch: Launch, frontend: Frontend, environment: Mapping[str, str]) -> str:
    """Start it, shake hands, and end it; the name and version that it gave.

    Raises:
        CheckError: it does not start, says nothing, or is something else.
    """
    given = {**environment, **launch.environment}
    program = shutil.which(launch.words[0], path=given.get("PATH", os.defpath))
    if program is None:
        raise CheckError(f"the command {launch.words[0]!r} is not there")
    with tempfile.TemporaryFile() as complaints:
        pipe = subprocess.PIPE
        words = [program, *launch.words[1:]]
        try:
            agent = subprocess.Popen(words, env=given, stdin=pipe, stdout=pipe, stderr=complaints)
        except OSError as error:
            raise CheckError(f"{program} cannot be started: {error.strerror}") from None
        try:
            said = _shake_hands(agent, frontend)
        finally:
            _end(agent)
        if said is None:
            complaints.seek(0)
            lines = complaints.read(MOST_BYTES).decode("utf-8", "replace").strip().splitlines()
            why = f": {one_line(lines[-1], 300)}" if lines else ""
            raise CheckError(f"`{' '.join(launch.words)}` ended without an answer{why}")
    return _named(said, frontend)


def _shake_hands(agent: "subprocess.Popen[bytes]", frontend: Frontend) -> Json | None:
    """The answer to `initialize`; None when it ended instead."""
    assert agent.stdin is not None
    assert agent.stdout is not None
    own: Json = {"protocolVersion": 1} if frontend == "acp" else {"processId": os.getpid(), "rootUri": None}
    params = {**own, "capabilities": {}, "clientCapabilities": {}, "clientInfo": {"name": "sould setup"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
    with contextlib.suppress(BrokenPipeError):
        framed = body + b"\n" if frontend == "acp" else b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        agent.stdin.write(framed)
        agent.stdin.flush()
    return _answer(agent.stdout, frontend)


def _answer(output: IO[bytes], frontend: Frontend) -> Json | None:
    received, deadline = b"", time.monotonic() + PATIENCE_S
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while len(received) < MOST_BYTES:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise CheckError(f"it said nothing for {PATIENCE_S:.0f} s")
            piece = os.read(output.fileno(), 65536)
            if not piece:
                return None
            received += piece
            for body in _bodies(received, frontend):
                if body.get("id") == 0 and "method" not in body:
                    return body
    raise CheckError("it says much, but does not answer")


def _bodies(received: bytes, frontend: Frontend) -> list[Json]:
    """The whole messages in what was received. What is none is passed over."""
    if frontend == "acp":
        pieces = received.split(b"\n")[:-1]
    else:
        pieces = list[bytes]()
        while (end := received.find(b"\r\n\r\n")) >= 0:
            lengths = [
                line.partition(b":")[2] for line in received[:end].split(b"\r\n") if line.startswith(b"Content-Length")
            ]
            length = int(lengths[0]) if lengths and lengths[0].strip().isdigit() else 0
            if len(received) < end + 4 + length:
                break
            pieces.append(received[end + 4 : end + 4 + length])
            received = received[end + 4 + length :]
    found = list[Json]()
    for piece in pieces:
        with contextlib.suppress(ValueError):
            body: object = json.loads(piece)
            if isinstance(body, dict):
                found.append(cast("Json", body))
    return found


def _named(said: Json, frontend: Frontend) -> str:
    if "error" in said:
        raise CheckError(f"it answers with an error: {_words(get(said, ('error', 'message')))}")
    who = ("result", "agentInfo" if frontend == "acp" else "serverInfo")
    name = get(said, (*who, "name"))
    if name != "sould":
        raise CheckError(f"what answers is not sould, but {_words(name) or 'something without a name'}")
    return f"sould {_words(get(said, (*who, 'version')))}".strip()


def _words(value: JsonValue) -> str:
    return one_line(value, 200) if isinstance(value, str) else ""


def _end(agent: "subprocess.Popen[bytes]") -> None:
    """As an editor does: hang up; then more plainly."""
    for pipe in (agent.stdin, agent.stdout):
        with contextlib.suppress(BrokenPipeError):
            if pipe is not None:
                pipe.close()
    try:
        agent.wait(LEAVING_S)
    except subprocess.TimeoutExpired:
        agent.kill()
        agent.wait()

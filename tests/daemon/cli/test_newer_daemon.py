"""A daemon newer than the command line, as far as its socket tells: it says what this one has no word for."""

import json
import os
import socket
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from sould.daemon.hello import HEADER
from soultest.cliuser import User

HUNK: Final[dict[str, Any]] = {
    "id": 1,
    "digest": "0",
    "path": "/w/a.py",
    "kind": "text",
    "state": "pending",
    "start": 0,
    "baseStart": 0,
    "base": [],
    "lines": [],
    "agents": [],
}
ITEM: Final[dict[str, Any]] = {"id": "1", "kind": "vote"}


@contextmanager
def newer(user: User, answers: Mapping[str, Any]) -> Generator[None]:
    """One conversation of a client is answered like this."""
    user.runtime.mkdir(mode=0o700, exist_ok=True)
    path = user.runtime / "sock"
    with socket.socket(socket.AF_UNIX) as listener:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=_serve, args=(listener, answers))
        thread.start()
        try:
            yield
        finally:
            thread.join()


def _serve(listener: socket.socket, answers: Mapping[str, Any]) -> None:
    connection, _ = listener.accept()
    with connection:
        head, descriptors, _, _ = socket.recv_fds(connection, HEADER, 3)
        connection.recv(int(head.split()[-1], 16), socket.MSG_WAITALL)
        for each in descriptors[1:]:
            os.close(each)
        with socket.socket(fileno=descriptors[0]) as client, client.makefile("rwb") as lines:
            while line := lines.readline():
                request = json.loads(line)
                answer = {"jsonrpc": "2.0", "id": request["id"], "result": answers.get(request["method"], {})}
                lines.write(json.dumps(answer).encode() + b"\n")
                lines.flush()


def review(**hunk: Any) -> dict[str, Any]:
    """A review with one hunk."""
    file = {"path": "/w/a.py", "exists": True, "hunks": [{**HUNK, **hunk}]}
    return {"_sould/review/list": {"root": "/w", "revision": 1, "files": [file]}}


def test_a_review_with_a_state_that_is_not_known_is_a_sentence_and_its_json_is_as_it_came(user: User) -> None:
    with newer(user, review(state="delegated")):
        done = user.sould("review")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "sould: The daemon's answer to sould review is not understood; it may be another version: sould restart\n"
    )
    with newer(user, review(state="delegated")):
        done = user.sould("review", "--json")
    assert json.loads(done.stdout)["files"][0]["hunks"][0]["state"] == "delegated"


def test_an_inbox_with_a_kind_of_question_that_is_not_known_is_a_sentence(user: User) -> None:
    with newer(user, {"_sould/inbox/subscribe": {"items": [ITEM]}}):
        done = user.sould("inbox", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "sould: The daemon's answer to sould inbox is not understood; it may be another version: sould restart\n"
    )

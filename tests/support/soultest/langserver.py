"""A language server that behaves, or misbehaves as its first argument says. Standard library only, so it starts at once.

    python langserver.py MODE [DIRECTORY]

It is a program of its own, started by the daemon under test. DIRECTORY is where it writes down what it was told, a line of JSON a
message, and where it looks for what it waits for. Of every text it says that the lines with `BAD` are errors.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]

MODE = sys.argv[1] if len(sys.argv) > 1 else "ok"
DIRECTORY = Path(sys.argv[2]) if len(sys.argv) > 2 else None
TEXTS: dict[str, str] = {}
PULLS = "pull" in MODE
CAPABILITIES: Json = {
    "textDocumentSync": {"openClose": True, "change": 1, "save": True},
    "hoverProvider": True,
    "definitionProvider": True,
    "referencesProvider": True,
    "renameProvider": True,
    "documentSymbolProvider": True,
    "workspaceSymbolProvider": True,
    **({"diagnosticProvider": {"interFileDependencies": True, "workspaceDiagnostics": False}} if PULLS else {}),
}


def send(message: Json) -> None:
    """One message, behind its header."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def receive() -> Json | None:
    """The next message; None at the end."""
    size = 0
    while (line := sys.stdin.buffer.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
    return json.loads(sys.stdin.buffer.read(size)) if size else None


def note(message: Json) -> None:
    """Write down what was told."""
    if DIRECTORY is not None:
        with (DIRECTORY / "told.jsonl").open("a") as log:
            log.write(json.dumps(message) + "\n")


def wait_for(name: str) -> None:
    """Until the test has made the file."""
    while DIRECTORY is not None and not (DIRECTORY / name).exists():
        time.sleep(0.01)


def span(line: int, start: int, end: int) -> Json:
    """A range in one line."""
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def problems(uri: str) -> list[Json]:
    """The lines with `BAD`."""
    return [
        {"range": span(number, 0, len(line)), "severity": 1, "source": "scripted", "message": f"bad: {line.strip()}"}
        for number, line in enumerate(TEXTS.get(uri, "").splitlines())
        if "BAD" in line
    ]


def publish(uri: str, version: int | None) -> None:
    """Tell the problems of a text."""
    if MODE == "liar":
        lie = [{"range": span(10**9, 0, 2**40), "severity": "worst", "message": "a lie"}, {"message": 7}, "nonsense"]
        for false in (10**9, -1, version - 1 if version else 0):
            params = {"uri": uri, "version": false, "diagnostics": lie}
            send({"method": "textDocument/publishDiagnostics", "params": params})
        true = {"uri": uri, "version": version, "diagnostics": [*lie, *problems(uri)]}
        send({"method": "textDocument/publishDiagnostics", "params": true})
        return
    if MODE in ("quiet", "pull"):
        return
    params = {"uri": uri, "version": version, "diagnostics": problems(uri)}
    send({"method": "textDocument/publishDiagnostics", "params": params})


def on_initialize(identifier: int) -> None:
    """The first question."""
    if MODE == "mute":
        wait_for("never")
    if MODE == "crash":
        sys.exit("no licence for this machine")
    if MODE == "garbage":
        sys.stdout.buffer.write(b"only nonsense today\n" * 100_000)
        sys.stdout.buffer.flush()
        wait_for("never")
    if MODE == "flood_first":
        flood()
    encoding = {"utf8": "utf-8", "utf32": "utf-32"}.get(MODE)
    capabilities = {**CAPABILITIES, **({"positionEncoding": encoding} if encoding else {})}
    send({"id": identifier, "result": {"capabilities": capabilities}})
    if MODE == "indexing":
        send({"id": 900, "method": "window/workDoneProgress/create", "params": {"token": "index"}})
        value = {"kind": "begin", "title": "Indexing"}
        send({"method": "$/progress", "params": {"token": "index", "value": value}})


def flood() -> None:
    """Messages without end."""
    line = b'{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":3,"message":"x"}}'
    block = (b"Content-Length: %d\r\n\r\n" % len(line) + line) * 500
    while True:
        sys.stdout.buffer.write(block)


def act_unasked() -> None:
    """Ask to write, to show and to run, which nobody wanted; the answers are noted as they come."""
    [uri] = TEXTS
    edit = {"changes": {uri: [{"range": span(0, 0, 0), "newText": "mine "}]}}
    send({"id": 901, "method": "workspace/applyEdit", "params": {"edit": edit}})
    made = {"documentChanges": [{"kind": "create", "uri": f"{uri}.new"}, {"kind": "delete", "uri": uri}]}
    send({"id": 902, "method": "workspace/applyEdit", "params": {"edit": made}})
    send({"id": 903, "method": "window/showDocument", "params": {"uri": uri, "takeFocus": True, "external": True}})
    send({"id": 904, "method": "workspace/executeCommand", "params": {"command": "touch"}})
    while (message := receive()) is not None:
        note(message)
        if message.get("id") == 904:
            return


def misbehave(identifier: int) -> bool:
    """Whether the question is not to be answered."""
    match MODE:
        case "hang":
            wait_for("never")
        case "die":
            sys.exit("segmentation fault (not really)")
        case "flood":
            flood()
        case "spin":
            while True:
                pass
        case "hog":
            hoard = [bytearray(os.urandom(1024) * 1024) for _ in range(4096)]
            send({"id": identifier, "result": len(hoard)})
        case "huge":
            send({"id": identifier, "result": {"contents": "x" * 40_000_000}})
        case "forward":
            act_unasked()
            return False
        case "indexing":
            wait_for("indexed")
            send({"method": "$/progress", "params": {"token": "index", "value": {"kind": "end"}}})
            return False
        case _:
            return False
    return True


def answer(method: str, params: Json) -> Any:
    """What it says to a question."""
    uri = params.get("textDocument", {}).get("uri", "")
    at = params.get("position", {})
    if MODE == "nonsense":
        return [{"uri": 7}, {"contents": [[[]]]}, None, {"uri": "http://example.org/x", "range": {"start": -1}}]
    if MODE == "outside" and method == "textDocument/rename":
        edit = {"range": span(0, 0, 0), "newText": "owned"}
        return {"changes": {"file:///etc/passwd": [edit], uri: [edit]}}
    match method:
        case "textDocument/hover":
            return {"contents": {"kind": "markdown", "value": f"at {at['line']}:{at['character']} of {os.getpid()}"}}
        case "textDocument/diagnostic":
            return {"kind": "full", "items": problems(uri)}
        case "textDocument/definition":
            return {"uri": uri, "range": span(at["line"], at["character"], at["character"] + 1)}
        case "textDocument/references":
            lines = enumerate(TEXTS[uri].splitlines())
            return [{"uri": uri, "range": span(number, 0, 1)} for number, line in lines if line]
        case "textDocument/documentSymbol":
            inner = {"name": "inner", "kind": 6, "range": span(0, 0, 1), "selectionRange": span(0, 0, 1)}
            return [{**inner, "name": "Outer", "kind": 5, "children": [inner]}]
        case "textDocument/rename":
            edit = {"range": span(at["line"], at["character"], at["character"] + 3), "newText": params["newName"]}
            return {"documentChanges": [{"textDocument": {"uri": uri, "version": None}, "edits": [edit]}]}
        case _:
            return None


def main() -> None:
    """Until its input ends, or it is told to."""
    if MODE == "clinging":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while (message := receive()) is not None:
        note(message)
        params: Json = message.get("params") or {}
        method, identifier = message.get("method", ""), message.get("id")
        match method:
            case "initialize":
                on_initialize(message["id"])
            case "textDocument/didOpen":
                document = params["textDocument"]
                TEXTS[document["uri"]] = document["text"]
                publish(document["uri"], document["version"])
            case "textDocument/didChange":
                document = params["textDocument"]
                TEXTS[document["uri"]] = params["contentChanges"][-1]["text"]
                publish(document["uri"], document["version"])
            case "shutdown" if MODE != "clinging":
                send({"id": identifier, "result": None})
            case "exit" if MODE != "clinging":
                return
            case _ if identifier is not None and method and not misbehave(identifier):
                send({"id": identifier, "result": answer(method, params)})
            case _:
                pass
    while MODE == "clinging":
        time.sleep(1)


if __name__ == "__main__":
    main()

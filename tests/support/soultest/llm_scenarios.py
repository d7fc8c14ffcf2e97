"""What the model server can do; each function is a scenario (see `soultest.llm`). F-numbers name the fault it serves."""

import asyncio
import gzip
import zlib
from typing import Any

import orjson

from soultest.llm import CHUNK, Exchange, scenario

HOMOGLYPH = "Re\u0430dFile"
"""`ReadFile` with a Cyrillic a."""


# --- answers as they should be ---------------------------------------------------------------------------------------


@scenario
async def plain(x: Exchange, argument: str) -> None:
    """Text, word by word; the argument, or a greeting."""
    await x.start()
    await x.delta(role="assistant", content="")
    for word in (argument or "Hello from the model.").split(" "):
        await x.delta(content=word + " ")
    await x.finish()


@scenario
async def think(x: Exchange, argument: str) -> None:
    """Reasoning, then text."""
    await x.start()
    await x.delta(role="assistant", reasoning_content=argument or "Let me see.")
    await x.delta(content="Done.")
    await x.finish()


@scenario
async def chunks(x: Exchange, argument: str) -> None:
    """So many chunks as fast as they go."""
    await x.start()
    burst: list[bytes] = []
    for n in range(int(argument)):
        event = CHUNK | {"choices": [{"index": 0, "delta": {"content": f"w{n} "}, "finish_reason": None}]}
        burst.append(b"data: %b\n\n" % orjson.dumps(event))
        if len(burst) == 100:
            await x.raw(b"".join(burst))
            burst.clear()
    await x.raw(b"".join(burst))
    await x.finish(usage={"prompt_tokens": 10, "completion_tokens": int(argument)})


@scenario
async def paced(x: Exchange, argument: str) -> None:
    """`N,milliseconds`: chunks with a pause between."""
    count, _, pause = argument.partition(",")
    await x.start()
    for n in range(int(count)):
        await x.delta(content=f"w{n} ")
        await asyncio.sleep(float(pause or 5) / 1000)
    await x.finish()


@scenario
async def tool(x: Exchange, argument: str) -> None:
    """`Name {arguments}`: one call, its arguments in fragments; then, with its result, text."""
    if x.request.has_tool_results:
        await plain(x, "Done.")
        return
    name, _, arguments = argument.partition(" ")
    await x.start()
    await _call(x, 0, f"call_{x.request.attempt}", name, arguments or "{}")
    await x.finish("tool_calls")


@scenario
async def tools(x: Exchange, argument: str) -> None:
    """`Name {arguments} | Name {arguments}`: parallel calls whose fragments are interleaved."""
    if x.request.has_tool_results:
        await plain(x, "Done.")
        return
    calls = [call.strip().partition(" ") for call in argument.split(" | ")]
    await x.start()
    for n, (name, _, _) in enumerate(calls):
        await x.delta(
            tool_calls=[
                {"index": n, "id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": ""}}
            ]
        )
    texts = [arguments or "{}" for _, _, arguments in calls]
    for at in range(0, max(map(len, texts)), 4):
        for n, text in enumerate(texts):
            if text[at : at + 4]:
                await x.delta(tool_calls=[{"index": n, "function": {"arguments": text[at : at + 4]}}])
    await x.finish("tool_calls")


async def _call(x: Exchange, index: int, call_id: str | None, name: str, arguments: str) -> None:
    first = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
    await x.delta(tool_calls=[first])
    for at in range(0, len(arguments), max(1, len(arguments) // 3)):
        piece = arguments[at : at + max(1, len(arguments) // 3)]
        await x.delta(tool_calls=[{"index": index, "function": {"arguments": piece}}])


# --- compaction --------------------------------------------------------------------------------------------------------

SUMMARY = (
    "<current_focus>{0}</current_focus><environment>None.</environment><completed_tasks>{0}</completed_tasks>"
    "<active_issues>None.</active_issues><code_state>None.</code_state><important_context>None.</important_context>"
)


_HUNG: list[str] = []


@scenario
async def compacting(x: Exchange, argument: str) -> None:
    """`tokens,how`: text that reports so many tokens. A conversation with it is compacted `well`, with a status, `hang` (the
    first time not at all), in `prose`, or, when its question `fits:N` characters, well; longer ones are too long."""
    tokens, _, how = argument.partition(",")
    if not any(words in str(x.request.body["messages"][0]["content"]) for words in ("You compact the", "你负责压缩")):
        await x.start()
        await x.delta(content="Said. ")
        await x.finish(usage={"prompt_tokens": int(tokens), "completion_tokens": 5})
        return
    asked = str(x.request.body["messages"][-1]["content"])
    kind, _, limit = how.partition(":")
    if kind.isdecimal():
        await _error(x, int(kind), f"the server says {kind}")
    elif kind == "hang" and not _HUNG:
        _HUNG.append(asked)
        await asyncio.Event().wait()
    elif kind == "prose":
        await plain(x, "It went well so far.")
    elif kind == "fits" and len(asked) > int(limit):
        await _error(x, 400, "This model's maximum context length is exceeded.", "context_length_exceeded")
    else:
        await plain(x, SUMMARY.format(f"compacted {len(asked)} characters"))


# --- statuses ---------------------------------------------------------------------------------------


async def _error(x: Exchange, status: int, message: str, code: str = "", **headers: str) -> None:
    await x.answer(
        status, orjson.dumps({"error": {"message": message, "type": "error", "code": code or None}}), **headers
    )


@scenario
async def status(x: Exchange, argument: str) -> None:
    """`code`, or `code,times` to answer well afterwards."""
    code, _, times = argument.partition(",")
    if times and x.request.attempt > int(times):
        await plain(x, "")
        return
    await _error(x, int(code), f"the server says {code}")


@scenario
async def s429(x: Exchange, argument: str) -> None:
    """`times`, or `times,retry-after`: rate limited so many times."""
    times, _, after = argument.partition(",")
    if x.request.attempt > int(times or 1):
        await plain(x, "")
        return
    await _error(x, 429, "slow down", **({"Retry_After": after} if after else {}))


@scenario
async def retry_after(x: Exchange, argument: str) -> None:
    """Rate limited for ever, with this header value."""
    await _error(x, 429, "slow down", Retry_After=argument)


@scenario
async def s401(x: Exchange, argument: str) -> None:
    """A refusal that repeats the key, in the body and beyond the first 500 characters."""
    del argument
    key = x.request.headers.get("authorization", "")
    await _error(x, 401, f"Incorrect API key provided: {key}. " + "x" * 490 + key)


@scenario
async def toolong(x: Exchange, argument: str) -> None:
    """The conversation is too long; `times` to answer well afterwards."""
    if argument and x.request.attempt > int(argument):
        await plain(x, "")
        return
    text = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
    await _error(x, 400, text, "context_length_exceeded")


@scenario
async def redirect(x: Exchange, argument: str) -> None:
    """301 to elsewhere."""
    await x.answer(301, b"moved", "text/html", Location=argument or "http://127.0.0.1:9/elsewhere")


@scenario
async def html(x: Exchange, argument: str) -> None:
    """A captive portal."""
    del argument
    await x.answer(200, b"<!DOCTYPE html><html><title>Sign in to the Wi-Fi</title></html>", "text/html; charset=utf-8")


@scenario
async def wrongtype(x: Exchange, argument: str) -> None:
    """Plain words where a stream should be."""
    del argument
    await x.answer(200, b"the upstream is having a bad day\n", "text/plain")


@scenario
async def bomb(x: Exchange, argument: str) -> None:
    """`status,content-type`: a compressed body of 1 GiB."""
    code, _, kind = argument.partition(",")
    await x.start(kind or "text/event-stream", int(code or 200), Content_Encoding="gzip")
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b"a" * (1024 * 1024)
    await x.raw(packer.compress(b"data: "))
    for _ in range(1024):
        await x.raw(packer.compress(block))
        await asyncio.sleep(0)
    await x.raw(packer.flush())
    await x.end()


@scenario
async def zipped(x: Exchange, argument: str) -> None:
    """A good answer, compressed although nobody asked for it."""
    await x.start(Content_Encoding="gzip")
    body = b"".join(
        b"data: %b\n\n" % orjson.dumps(CHUNK | {"choices": [{"index": 0, "delta": {"content": word}}]})
        for word in (argument or "a b").split()
    )
    body += b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    await x.raw(gzip.compress(body))
    await x.end()


# --- broken streams -----------------------------------------------------------------------------------------


@scenario
async def cut(x: Exchange, argument: str) -> None:
    """`reset`, `close`, `clean` (no finish_reason) after two chunks, `call` inside arguments, `before` any chunk; `,times`."""
    how, _, times = argument.partition(",")
    if times and x.request.attempt > int(times):
        await plain(x, "")
        return
    await x.start()
    if how == "call":
        await x.delta(
            tool_calls=[{"index": 0, "id": "c", "type": "function", "function": {"name": "Shell", "arguments": ""}}]
        )
        await x.delta(tool_calls=[{"index": 0, "function": {"arguments": '{"command": "echo '}}])
    elif how != "before":
        await x.delta(role="assistant", content="one ")
        await x.delta(content="two ")
    if how == "clean":
        await x.end()
    elif how == "reset":
        x.reset()
    else:
        x.close()


@scenario
async def malformed(x: Exchange, argument: str) -> None:
    """One bad event in the middle; the argument, or broken JSON."""
    await x.start()
    await x.delta(content="one ")
    await x.raw(b"data: " + (argument or "{not json").encode() + b"\n\n")
    await x.delta(content="two ")
    await x.finish()


@scenario
async def odd(x: Exchange, argument: str) -> None:
    """Legal but unusual: `event` without data, `comment` of 1 MiB, `cr`, `crlf`, `utf8` split in the middle, `bytes` one by one."""
    await x.start()
    text = "grüße 🌍"
    event = orjson.dumps(CHUNK | {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})
    end = orjson.dumps(CHUNK | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = b"data: %b\n\ndata: %b\n\ndata: [DONE]\n\n" % (event, end)
    match argument:
        case "event":
            await x.raw(b"event: ping\n\n" + body)
        case "comment":
            await x.raw(b": " + b"c" * (1024 * 1024) + b"\n\n" + body)
        case "cr":
            await x.raw(body.replace(b"\n", b"\r"))
        case "crlf":
            await x.raw(body.replace(b"\n", b"\r\n"))
        case "utf8":
            middle = body.index("🌍".encode()) + 2
            await x.raw(body[:middle])
            await asyncio.sleep(0.01)
            await x.raw(body[middle:])
        case _:
            for n in range(len(body)):
                await x.raw(body[n : n + 1])
    await x.end()


@scenario
async def keepalive(x: Exchange, argument: str) -> None:
    """Comments for ever, every so many milliseconds, after one chunk."""
    await x.start()
    await x.delta(content="one ")
    while True:
        await x.raw(b": keep-alive\n\n")
        await asyncio.sleep(float(argument or 20) / 1000)


@scenario
async def silent(x: Exchange, argument: str) -> None:
    """Headers, `argument` chunks, then nothing."""
    await x.start()
    for n in range(int(argument or 0)):
        await x.delta(content=f"w{n} ")
    await asyncio.Event().wait()


@scenario
async def hang(x: Exchange, argument: str) -> None:
    """Not even headers."""
    del x, argument
    await asyncio.Event().wait()


@scenario
async def drip(x: Exchange, argument: str) -> None:
    """A byte of an event that never ends, every so many milliseconds."""
    await x.start()
    await x.raw(b"data: {")
    while True:
        await x.raw(b" ")
        await asyncio.sleep(float(argument or 20) / 1000)


@scenario
async def midstream(x: Exchange, argument: str) -> None:
    """An error inside the stream, after a chunk unless the argument is `first`."""
    await x.start()
    if argument != "first":
        await x.delta(content="one ")
    await x.event({"error": {"code": 502, "message": "Provider disconnected"}})
    await x.end()


# --- bad calls ------------------------------------------------------------------------------------------------


@scenario
async def badcall(x: Exchange, argument: str) -> None:
    """`unclosed`, `types`, `unknown`, `huge`, `extra`, `empty`, `case`, `homoglyph`; for ever with `!` after it."""
    kind = argument.rstrip("!")
    if x.request.has_tool_results and not argument.endswith("!"):
        await plain(x, "Done.")
        return
    path = '{"path": "a.txt"}'
    name, arguments = {
        "unclosed": ("Shell", '{"command": "echo '),
        "types": ("ReadFile", '{"path": 7}'),
        "unknown": ("NoSuchTool", "{}"),
        "huge": ("ReadFile", '{"path": "%s"}' % ("a" * 20_000_000)),
        "extra": ("ReadFile", '{"path": "a.txt", "colour": "red"}'),
        "empty": ("", "{}"),
        "case": ("readfile", path),
        "homoglyph": (HOMOGLYPH, path),
    }[kind]
    await x.start()
    await _call(x, 0, "call_1", name, arguments)
    await x.finish("tool_calls")


@scenario
async def ids(x: Exchange, argument: str) -> None:
    """`same`, `null`, `reused` (the same id in every turn), or a number of parallel calls; the tool is ReadFile of a.txt."""
    if x.request.has_tool_results:
        await plain(x, "Done.")
        return
    await x.start()
    count = int(argument) if argument.isdigit() else 2
    for n in range(count):
        call_id: str | None = {"same": "call_x", "null": None, "reused": f"call_{n}"}.get(argument, f"call_{n}")
        await _call(x, n, call_id, "ReadFile", orjson.dumps({"path": f"{'ab'[n % 2]}.txt"}).decode())
    await x.finish("tool_calls")


@scenario
async def loop(x: Exchange, argument: str) -> None:
    """The same call for ever; with `cycle` three calls in turn."""
    name = ("a.txt", "b.txt", "c.txt")[x.request.attempt % 3] if argument == "cycle" else "a.txt"
    await x.start()
    await _call(x, 0, f"call_{x.request.attempt}", "ReadFile", orjson.dumps({"path": name}).decode())
    await x.finish("tool_calls")


# --- empty and endless ---------------------------------------------------------------------------------------------


@scenario
async def empty(x: Exchange, argument: str) -> None:
    """`choices`, `content`, `reasoning`, `nothing` (only `[DONE]`), or a finish_reason; `,times` to answer well afterwards."""
    how, _, times = argument.partition(",")
    if times and x.request.attempt > int(times):
        await plain(x, "")
        return
    await x.start()
    match how:
        case "choices":
            await x.event(CHUNK | {"choices": []})
        case "content" | "":
            await x.delta(role="assistant", content="")
            await x.delta(finish="stop")
        case "reasoning":
            await x.delta(reasoning_content="hm")
            await x.delta(finish="stop")
        case "nothing":
            pass
        case reason:
            await x.delta(finish=reason)
    await x.raw(b"data: [DONE]\n\n")
    await x.end()


@scenario
async def nousage(x: Exchange, argument: str) -> None:
    """A good answer whose tokens nobody counted."""
    await x.start()
    await x.delta(content=argument or "ok")
    await x.delta(finish="stop")
    await x.raw(b"data: [DONE]\n\n")
    await x.end()


@scenario
async def endless(x: Exchange, argument: str) -> None:
    """Text without end, in pieces of so many characters."""
    await x.start()
    piece: Any = "word " * (int(argument or 100) // 5)
    while True:
        await x.delta(content=piece)

"""An ACP agent for measuring the panel alone: a session of many messages, in pages, and a stream at a steady rate.

It answers from memory at once, so that what is measured is the page. Run as `PROGRAM acp` by scripts/panel.mjs.
"""

import json
import sys
import time
from typing import Any

Json = dict[str, Any]
MESSAGES = 10_000
RATE = 500
"""Chunks a second."""
SECONDS = 5
SESSION = "s"
ANSWER = (
    "A paragraph with **bold** words and `code`, about as long as answers are.\n\n"
    "```python\nprint('{0}')\n```\n\n- one\n- two\n"
)


def say(message: Json) -> None:
    """One line to the panel."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(number: int) -> Json:
    """One of the messages."""
    match number % 3:
        case 0:
            text = {"type": "text", "text": f"Question {number}"}
            return {"sessionUpdate": "user_message_chunk", "messageId": f"m{number}", "content": text}
        case 1:
            card = {"toolCallId": f"c{number}", "title": f"Read file{number}.py", "kind": "read", "status": "completed"}
            return {"sessionUpdate": "tool_call", **card, "content": []}
        case _:
            text = {"type": "text", "text": ANSWER.format(number)}
            return {"sessionUpdate": "agent_message_chunk", "messageId": f"m{number}", "content": text}


def page(before: int | None, limit: int) -> Json:
    """A page of the conversation."""
    end = MESSAGES if before is None else before
    begin = max(0, end - limit)
    shown = [{"sequence": number + 1, "update": update(number)} for number in range(begin, end)]
    return {"updates": shown, "before": begin or None, "sequence": MESSAGES}


def stream() -> None:
    """Chunks at the rate, and the word when the last was said."""
    begin = time.monotonic()
    for number in range(RATE * SECONDS):
        time.sleep(max(0.0, begin + number / RATE - time.monotonic()))
        words = "word \n\n" if number % 60 == 59 else "word "
        content = {"type": "text", "text": words if number < RATE * SECONDS - 1 else "END"}
        said = {"sessionUpdate": "agent_message_chunk", "messageId": "live", "content": content}
        meta = {"sould": {"sequence": MESSAGES + 2 + number}}
        say({"method": "session/update", "params": {"sessionId": SESSION, "update": said, "_meta": meta}})


def answer(method: str, params: Json) -> Json:
    """What a request is answered with."""
    match method:
        case "session/list":
            return {"sessions": [{"sessionId": SESSION, "cwd": "/elsewhere", "title": "A long session"}]}
        case "_sould/session/transcript":
            return page(params.get("before"), params["limit"])
        case "_sould/queue":
            return {"prompts": []}
        case "session/prompt":
            stream()
            return {"stopReason": "end_turn"}
        case _:
            return {"sessionId": SESSION, "configOptions": []}


def main() -> None:
    """Answer until the panel is gone."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            say({"id": message["id"], "result": answer(message["method"], message["params"])})


if __name__ == "__main__":
    main()

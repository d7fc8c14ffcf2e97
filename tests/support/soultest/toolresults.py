"""What the calls of a scripted turn came to, as the client of `sould run` is told."""

import json
from typing import Any

from soultest.world import World

Json = dict[str, Any]


def results(world: World, mode: str = "full") -> list[Json]:
    """Run a turn, and give for each call of an editor tool, in their order, its `data` and `meta`, or the `error` that the model reads."""
    run = world.sould("run", "--mode", mode, "--output-format", "stream-json", "go on")
    assert run.returncode == 0, run.stdout + run.stderr
    updates = [json.loads(line).get("update", {}) for line in run.stdout.splitlines()]
    ended = [each for each in updates if each.get("status") in ("completed", "failed")]
    return [_result(each["status"] == "failed", each["rawOutput"]) for each in ended]


def _result(failed: bool, raw: Json) -> Json:
    if failed:
        return {"error": raw["message"]}
    # A call that took long on a busy machine says behind this which files changed meanwhile.
    said, _ = json.JSONDecoder().raw_decode(raw["output"])
    return said

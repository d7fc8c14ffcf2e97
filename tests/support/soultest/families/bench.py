"""A bench whose model is a server of a family."""

import json
from dataclasses import dataclass, field
from typing import cast

from sould.agents.llm.provider import Finish
from sould.agents.llm.scripted import parse_script
from sould.agents.wire.content import TextPart, ThinkPart
from sould.agents.wire.messages import ToolCall
from soultest.bench import Bench
from soultest.families.server import Call, FamilyServer, Said


@dataclass
class ServedBench(Bench):
    """A bench that plays scripts through a server. It knows texts, thoughts and calls; all sessions share the scripts."""

    server: FamilyServer = field(kw_only=True)

    def script(self, *scripts: str) -> None:
        """See `Bench`."""
        self.server.unsaid.clear()
        self.server.say(*map(said, scripts))

    def _configure(self) -> None:
        model = {"provider": "served", "model": "m", "max_context_size": 100_000}
        able = {"capabilities": ["thinking", "image_in"], "max_output_tokens": 4096}
        self.settings |= {
            "default_model": "served",
            "sessions": {"titles_by_model": False} | self.settings.get("sessions", {}),
            "models": {"served": model | able},
            "providers": {
                "served": {
                    "type": self.server.family.type,
                    "base_url": self.server.url,
                    "api_key": "sk-0123456789abcdef",
                }
            },
        }
        super()._configure()


def said(script: str) -> Said:
    """What a script says (see `parse_script`)."""
    steps = parse_script(script, "the script")
    assert all(isinstance(step, TextPart | ThinkPart | ToolCall | Finish) for step in steps), script
    calls = [step.function for step in steps if isinstance(step, ToolCall)]
    return Said(
        text="".join(step.text for step in steps if isinstance(step, TextPart)),
        calls=tuple(Call(call.name, cast("dict[str, object]", json.loads(call.arguments or "{}"))) for call in calls),
        thoughts="".join(step.think for step in steps if isinstance(step, ThinkPart)),
    )

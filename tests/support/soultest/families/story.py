"""A session as long as people's are, with one family of model servers: 30 turns, after each of which the next one works."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sould.agents.sessions.session import Session
from sould.agents.wire.content import ContentPart, ImagePart, MediaUrl, TextPart
from sould.agents.wire.messages import MediaLeftOut, ToolOutput, ToolResult, TurnEnd
from soultest.bench import Bench, Watcher
from soultest.bench.looks import choose
from soultest.families.kinds import Gemini, OpenAI
from soultest.families.server import Call, Family, FamilyServer, Said
from soultest.pictures import encoded, png

DAEMONS = 2
"""In which the story happens."""
LIMIT = 90_000
"""Bytes that a server takes: four results of 30,000 characters are too many."""


def shell(command: str) -> Call:
    """A call of the shell."""
    return Call("Shell", {"command": command})


@dataclass
class Story:
    """One session with a server, and another server to change to."""

    bench: Bench
    server: FamilyServer
    other: FamilyServer
    watcher: Watcher = field(init=False)
    turns: int = 0

    @property
    def session(self) -> Session:
        """The session."""
        return self.watcher.session

    async def turn(self, *answers: Said, prompt: Sequence[ContentPart] = (), by: FamilyServer | None = None) -> TurnEnd:
        """A turn in which the model gives these answers; the last one ends it."""
        server = by or self.server
        server.say(*answers)
        self.turns += 1
        parts = (TextPart(text=f"Turn {self.turns}."), *prompt)
        end = await self.session.turns.prompt(parts, "watcher").outcome()
        assert end.stop_reason == "finished", (self.turns, end, server.refused)
        assert not server.unsaid, f"turn {self.turns} ended early"
        shown = [part.text for part in self.watcher.of(TextPart)]
        assert answers[-1].text in "".join(shown[-40:]), f"the answer of turn {self.turns} was not shown"
        return end

    @asynccontextmanager
    async def daemon(self, session_id: str = "") -> AsyncGenerator[None]:
        """A daemon, with a new session or with one that an earlier daemon had."""
        async with self.bench.running():
            session = await (self.bench.open(session_id) if session_id else self.bench.new("full"))
            self.watcher = Watcher(session)
            yield

    def results(self) -> list[ToolResult]:
        """Of this daemon's calls."""
        return self.watcher.of(ToolResult)

    def written(self) -> list[str]:
        """What the calls of the story wrote, in order."""
        file = self.bench.project / "log.txt"
        return file.read_text().split() if file.exists() else []


def settings(server: FamilyServer, other: FamilyServer) -> dict[str, object]:
    """A configuration with both servers."""
    able = ["thinking", "image_in"]
    model = {
        "provider": "one",
        "model": "m-one",
        "max_context_size": 128_000,
        "capabilities": able,
        "max_output_tokens": 4096,
    }
    provider = {"api_key": "sk-0123456789abcdef"}
    return {
        "default_model": "one",
        "default_thinking": True,
        "sessions": {"titles_by_model": False},
        "models": {"one": model, "two": model | {"provider": "two", "model": "m-two"}},
        "providers": {
            "one": provider | {"type": server.family.type, "base_url": server.url},
            "two": provider | {"type": other.family.type, "base_url": other.url},
        },
    }


async def tell(bench: Bench, family: type[Family]) -> None:
    """Tell the story; afterwards the server has refused nothing but what nobody could know."""
    another = Gemini if family is not Gemini else OpenAI
    async with FamilyServer(family(limit=LIMIT)) as server, FamilyServer(another()) as other:
        bench.settings |= settings(server, other)
        story = Story(bench, server, other)
        (bench.project / "shot.png").write_bytes(png(16))
        async with story.daemon():
            session_id = story.session.id
            await _calls(story)
            await _odd_answers(story)
            await _pictures(story)
            await _cancels(story)
            await _another_model(story)
        async with story.daemon(session_id):
            await _after_a_restart(story)
            await _too_long(story)
            await _the_end(story)
        assert story.turns == 30
        _judge(server)
        _judge(other)


async def _calls(story: Story) -> None:
    await story.turn(Said("Hello."))
    await story.turn(Said("Thought about it.", thoughts="The user greets me."))
    await story.turn(Said(calls=(shell("echo one >> log.txt"),), thoughts="Write it."), Said("Written."))
    both = (Call("ReadFile", {"path": "a.txt"}), shell("echo two >> log.txt"))
    await story.turn(Said("I look.", calls=both, thoughts="Two at once."), Said("Both done."))
    await story.turn(
        Said(calls=(shell("echo three >> log.txt"),), thoughts="First."),
        Said("On.", calls=(shell("echo four >> log.txt"),), thoughts="Second."),
        Said("Two steps.", thoughts="Over."),
    )
    edit = Call("StrReplaceFile", {"path": "a.txt", "edit": {"old": "hello", "new": "bye"}})
    await story.turn(Said(calls=(edit,)), Said("Edited."))
    assert (story.bench.project / "a.txt").read_text() == "bye\n"
    assert story.written() == ["one", "two", "three", "four"]


async def _odd_answers(story: Story) -> None:
    await story.turn(Said(calls=(Call("ReadFile", {"path": "missing.txt"}),)), Said("There is none."))
    await story.turn(Said(calls=(Call("browser.tabs.open", {"url": "x"}),)), Said("No such tool."))
    await story.turn(Said(" \n", calls=(shell("echo five >> log.txt"),)), Said("After white space."))
    await story.turn(Said(calls=(shell("true 1"),)), Said("It printed nothing."))
    cut = Said(calls=(Call("WriteFile", {"path": "long.txt", "content": "x" * 200}),), cut=True)
    await story.turn(cut, Said("In parts, then."))
    assert not (story.bench.project / "long.txt").exists()
    leaked = Said('<tool_call>{"name": "Shell", "arguments": {"command": "echo no >> log.txt"}}</tool_call>')
    await story.turn(leaked, Said(calls=(shell("echo six >> log.txt"),)), Said("Called at last."))
    assert story.written()[4:] == ["five", "six"]


async def _pictures(story: Story) -> None:
    shown = ImagePart(image_url=MediaUrl(url=f"data:image/png;base64,{encoded(png(16))}"))
    await story.turn(Said("Blue."), prompt=(shown,))
    await story.turn(Said(calls=(Call("ReadMediaFile", {"path": "shot.png"}),)), Said("Blue, too."))
    await story.turn(Said("Both are blue.", thoughts="Compare."))
    assert bool(story.watcher.of(MediaLeftOut)) != story.server.family.sees


async def _cancels(story: Story) -> None:
    story.server.say(Said("A long answer that is not heard to its end.", stops=True))
    prompt = story.session.turns.prompt("Speak.", "watcher")
    await story.watcher.wait_for(TextPart, lambda part: "A long" in part.text)
    story.session.turns.cancel("watcher")
    assert (await prompt.outcome()).stop_reason == "cancelled"
    await story.turn(Said("Quiet."))
    story.server.say(Said(calls=(shell("echo started; sleep 1000"), shell("echo no >> log.txt")), thoughts="Wait."))
    known = len(story.watcher.of(ToolOutput))
    prompt = story.session.turns.prompt("Wait.", "watcher")
    await story.watcher.wait_for(ToolOutput, lambda output: output in story.watcher.of(ToolOutput)[known:])
    story.session.turns.cancel("watcher")
    assert (await prompt.outcome()).stop_reason == "cancelled"
    await story.turn(Said(calls=(shell("echo seven >> log.txt"),)), Said("Awake."))
    assert story.written()[6:] == ["seven"]


async def _another_model(story: Story) -> None:
    await choose(story.session, "thought_level", "off", "watcher")
    await story.turn(Said(calls=(shell("echo eight >> log.txt"),)), Said("Without a thought."))
    await choose(story.session, "thought_level", "high", "watcher")
    await story.turn(Said(calls=(shell("true 2"),), thoughts="Again."), Said("With one.", thoughts="Still."))
    await choose(story.session, "model", "two", "watcher")
    answers = Said(calls=(shell("echo nine >> log.txt"),), thoughts="New here."), Said("From the other.")
    await story.turn(*answers, by=story.other)
    await story.turn(Said("Still the other."), by=story.other)
    await choose(story.session, "model", "one", "watcher")
    await story.turn(Said(calls=(shell("true 3"),), thoughts="Back."), Said("From the first."))
    assert story.written()[7:] == ["eight", "nine"]


async def _after_a_restart(story: Story) -> None:
    await story.turn(Said("Here again.", thoughts="What was it?"))
    await story.turn(Said(calls=(shell("echo ten >> log.txt"),), thoughts="On with it."), Said("Goes on."))
    assert story.written()[9:] == ["ten"]


async def _too_long(story: Story) -> None:
    """The fourth result is too much for most servers; Ollama forgets what does not fit, and says nothing."""
    print_much = "python3 -c 'print(\"word \" * 5800)'"
    for number in range(4):
        await story.turn(Said(calls=(shell(print_much),)), Said(f"Read part {number}."))
    await story.turn(Said(calls=(shell("echo eleven >> log.txt"),), thoughts="After that."), Said("Short again."))
    assert story.written()[10:] == ["eleven"]


async def _the_end(story: Story) -> None:
    assert (await story.session.turns.prompt("/compact", "watcher").outcome()).stop_reason == "finished"
    while story.turns < 30:
        command = shell(f"true {story.turns}")
        await story.turn(Said(calls=(command,), thoughts="Nearly."), Said(f"Turn {story.turns + 1} is over."))


def _judge(server: FamilyServer) -> None:
    assert [complaint.words for complaint in server.refused if complaint.kind == "fault"] == []
    learned = [complaint.words for complaint in server.refused if complaint.kind == "learned"]
    assert all(learned.count(words) <= DAEMONS for words in learned), "each remembers what it learned"
    assert len([complaint for complaint in server.refused if complaint.kind == "media"]) <= 1
    assert len([complaint for complaint in server.refused if complaint.kind == "overflow"]) <= 2

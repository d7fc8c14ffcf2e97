"""`_sould/review/*`: what clients do with what agents changed, without a session and without a model (docs/review-clients.md)."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.agents.soul.test_reviewed_turns import Gate

from sould.agents.clients.connections import ConnectionRecord
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, StepBegin
from soultest.acpclient import AcpClient, AgentError
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.acp import Connect
from soultest.reviewschema import judge

Json = dict[str, Any]

CHANGED = "_sould/review/changed"


async def edited(bench: Bench, files: Mapping[str, tuple[str | None, str]]) -> str:
    """The user has files, None none, which an agent writes anew; its session, which is closed then."""
    for name, (before, _) in files.items():
        if before is not None:
            (bench.project / name).write_text(before)
    calls = [call("WriteFile", path=name, content=after) for name, (_, after) in files.items()]
    bench.script(*calls, "text: done")
    async with bench.running():
        session = await bench.new("review")
        await finish(session, "go")
        return session.id


@asynccontextmanager
async def reviewer(connect: Connect, name: str = "desk", title: str | None = None) -> AsyncGenerator[AcpClient, None]:
    """A client that opens no session. What was said is judged by the schemas of docs/schemas/review."""
    async with connect() as client:
        await client.initialize(clientInfo={"name": name, "title": title, "version": "1"})
        yield client
    judge(client.log)


async def listed(client: AcpClient, bench: Bench, **more: Any) -> list[Json]:
    """The hunks that are pending."""
    answer = await client.request("_sould/review/list", cwd=str(bench.project), **more)
    return [hunk for file in answer["files"] for hunk in file["hunks"]]


async def told_of_decision(client: AcpClient) -> Json:
    """The first notification of decisions that are carried out: what takes a moment is told as waiting before."""

    def tells(message: Json) -> bool:
        decisions: list[Json] = message["params"].get("decisions", []) if message.get("method") == CHANGED else []
        return any("waits" not in decision for decision in decisions)

    return (await client.wait_for(tells))["params"]


async def test_hunks_of_a_closed_session_are_listed_kept_rejected_and_undone_without_a_model(
    bench: Bench, connect: Connect
) -> None:
    session = await edited(bench, {"a.txt": ("1\n2\n3\n4\n5\n", "one\n2\n3\n4\nfive\n")})
    bench.settings = {"models": {}, "providers": {}, "default_model": ""}
    path = bench.project / "a.txt"
    async with bench.running(), reviewer(connect) as client:
        answer = await client.request("_sould/review/list", cwd=str(bench.project))
        assert answer["root"] == str(bench.project)
        [file] = answer["files"]
        assert (file["path"], file["exists"]) == (str(path), True)
        first, second = file["hunks"]
        assert (first["start"], first["base"], first["kind"], first["state"]) == (0, ["1\n"], "text", "pending")
        assert first["lines"] == [{"text": "one\n", "author": "agent", "agent": 0}]
        assert first["agents"][0]["sessionId"] == session
        assert (second["start"], second["baseStart"], second["base"]) == (4, 4, ["5\n"])
        named = [{"id": first["id"], "digest": first["digest"]}]

        kept = await client.request("_sould/review/keep", cwd=str(bench.project), hunks=named)
        assert [(done["id"], done["verdict"]) for done in kept["done"]] == [(first["id"], "keep")]
        assert (await client.request("_sould/review/base", path=str(path)))["text"] == "one\n2\n3\n4\n5\n"
        await client.request("_sould/review/reject", cwd=str(bench.project), all=True)
        assert path.read_text() == "one\n2\n3\n4\n5\n"
        assert not await listed(client, bench)

        undone = await client.request("_sould/review/undo", cwd=str(bench.project), hunks=[{"id": second["id"]}])
        assert [done["id"] for done in undone["done"]] == [second["id"]]
        assert path.read_text() == "one\n2\n3\n4\nfive\n"
        [pending] = await listed(client, bench)
        assert (pending["id"], pending["digest"]) == (second["id"], second["digest"])


async def test_of_two_clients_the_first_decides_and_the_second_learns_who_and_when(
    bench: Bench, connect: Connect
) -> None:
    """review-cases.md, case 11."""
    await edited(bench, {"a.txt": ("a\nb\nc\n", "a\nB\nc\n")})
    async with (
        bench.running(),
        reviewer(connect, "vim") as one,
        reviewer(connect, "studio", "Code Studio") as other,
    ):
        for client in (one, other):
            await client.request("_sould/review/subscribe", cwd=str(bench.project))
        [hunk] = await listed(one, bench)
        named = [{"id": hunk["id"], "digest": hunk["digest"]}]

        await other.request("_sould/review/reject", cwd=str(bench.project), hunks=named, reason="keep the name")
        [left] = (await one.request("_sould/review/keep", cwd=str(bench.project), hunks=named))["left"]

        assert (left["why"], left["state"], left["by"]) == ("already_decided", "rejected", "Code Studio (studio)")
        assert left["at"].endswith("Z")
        assert (bench.project / "a.txt").read_text() == "a\nb\nc\n"
        for client in (one, other):
            told = await told_of_decision(client)
            [decision] = told["decisions"]
            assert (decision["id"], decision["verdict"], decision["by"]) == (
                hunk["id"],
                "reject",
                "Code Studio (studio)",
            )
            assert decision["reason"] == "keep the name"
            assert decision["at"] == left["at"]
            assert told["files"] == [{"path": str(bench.project / "a.txt"), "exists": True, "hunks": []}]
        assert await listed(one, bench) == await listed(other, bench) == []


async def test_a_client_is_told_what_an_agent_writes_until_it_unsubscribes(bench: Bench, connect: Connect) -> None:
    bench.script(
        call("WriteFile", path="a.txt", content="one\n"),
        "text: done",
        call("WriteFile", path="a.txt", content="two\n"),
        "text: done",
    )
    async with bench.running(), reviewer(connect) as client:
        answer = await client.request("_sould/review/subscribe", cwd=str(bench.project))
        assert answer["files"] == []
        session = Watcher(await bench.new("review")).session
        await finish(session, "go")
        told = await client.wait_for(
            lambda message: (
                message.get("method") == CHANGED and any(each["hunks"] for each in message["params"]["files"])
            )
        )
        [file] = told["params"]["files"]
        assert [line["text"] for hunk in file["hunks"] for line in hunk["lines"]] == ["one\n"]
        assert told["params"]["revision"] > answer["revision"]

        await client.request("_sould/review/unsubscribe", cwd=str(bench.project))
        before = len(client.messages)
        await finish(session, "go")
        [hunk] = await listed(client, bench)
        assert [line["text"] for line in hunk["lines"]] == ["two\n"]
        assert not [message for message in client.messages[before:] if message.get("method") == CHANGED]


async def test_words_of_the_user_in_a_hunk_are_asked_about_with_what_is_needed_to_go_on(
    bench: Bench, connect: Connect
) -> None:
    await edited(bench, {"a.txt": ("a\n", "a\nif it is so:\nraise an error here\n")})
    path = bench.project / "a.txt"
    path.write_text("a\nif it is so:\nraise an error now here\n")
    async with bench.running(), reviewer(connect) as client:
        [left] = (await client.request("_sould/review/reject", cwd=str(bench.project), all=True))["left"]
        assert (left["why"], left["mixed"]) == ("needs_choice", ["raise an error now here\n"])
        assert left["choices"] == ["drop", "mine", "leave"]
        present = left["present"]
        assert [line["author"] for line in present["lines"]] == ["agent", "mixed"]
        named = [{"id": left["id"], "digest": present["digest"]}]
        await client.request("_sould/review/reject", cwd=str(bench.project), hunks=named, choice="mine")
        assert path.read_text() == "a\nraise an error now here\n"


async def test_a_digest_of_an_earlier_look_is_refused_with_the_hunk_as_it_is(bench: Bench, connect: Connect) -> None:
    await edited(bench, {"a.txt": ("a\nb\nc\n", "a\nB1\nB2\nc\n")})
    async with bench.running(), reviewer(connect) as client:
        [hunk] = await listed(client, bench)
        (bench.project / "a.txt").write_text("a\nB1\nB2 and more\nc\nd\n")
        named = [{"id": hunk["id"], "digest": hunk["digest"]}]
        [left] = (await client.request("_sould/review/keep", cwd=str(bench.project), hunks=named))["left"]
        assert left["why"] == "hunk_stale"
        assert [line["text"] for line in left["present"]["lines"]] == ["B1\n", "B2 and more\n"]
        [unknown] = (await client.request("_sould/review/undo", cwd=str(bench.project), hunks=[{"id": 10**9}]))["left"]
        assert (unknown["id"], unknown["why"]) == (10**9, "unknown")


async def test_part_of_a_hunk_a_file_and_a_session_are_decided(bench: Bench, connect: Connect) -> None:
    session = await edited(
        bench, {"a.txt": ("a\n", "a\np\nq\nr\ns\n"), "b.txt": ("x\n", "y\n"), "c/d.txt": (None, "new\n")}
    )
    async with bench.running(), reviewer(connect) as client:
        [hunk] = await listed(client, bench, paths=[str(bench.project / "a.txt")])
        named = [{"id": hunk["id"], "digest": hunk["digest"]}]
        kept = await client.request("_sould/review/keep", cwd=str(bench.project), hunks=named, lines=[1, 3])
        [done] = kept["done"]
        assert done["id"] == hunk["id"]
        for verdict in ("undo", "keep"):
            again = await client.request(
                f"_sould/review/{verdict}", cwd=str(bench.project), hunks=[{"id": done["part"]}]
            )
            assert not again.get("left")
        rest = await listed(client, bench, paths=[str(bench.project / "a.txt")])
        assert [line["text"] for hunk in rest for line in hunk["lines"]] == ["p\n", "s\n"]
        await client.request("_sould/review/reject", paths=[str(bench.project / "c")])
        assert not (bench.project / "c").exists()
        await client.request("_sould/review/reject", cwd=str(bench.project), sessionId=session)
        assert (bench.project / "a.txt").read_text() == "a\nq\nr\n"
        assert (bench.project / "b.txt").read_text() == "x\n"


HOSTILE: list[tuple[str, Json]] = [
    ("list", {}),
    ("list", {"cwd": "relative"}),
    ("list", {"cwd": "/no/such/directory"}),
    ("list", {"cwd": 7}),
    ("list", {"cwd": "/x\0y"}),
    ("list", {"paths": "a.txt"}),
    ("list", {"paths": ["/x"] * 10_001}),
    ("keep", {"cwd": "PROJECT"}),
    ("keep", {"cwd": "PROJECT", "hunks": []}),
    ("keep", {"cwd": "PROJECT", "hunks": ["1"]}),
    ("keep", {"cwd": "PROJECT", "hunks": [{"id": "1"}]}),
    ("keep", {"cwd": "PROJECT", "hunks": [{"id": True}]}),
    ("keep", {"cwd": "PROJECT", "hunks": [{"id": 1.5}]}),
    ("keep", {"cwd": "PROJECT", "hunks": [{"id": 0}]}),
    ("keep", {"cwd": "PROJECT", "hunks": [{"id": 2**70}]}),
    ("keep", {"cwd": "PROJECT", "hunks": [{"id": 1, "digest": 5}]}),
    ("keep", {"cwd": "PROJECT", "hunks": [{"id": 1}], "all": True}),
    ("keep", {"cwd": "PROJECT", "all": "yes"}),
    ("reject", {"cwd": "PROJECT", "all": True, "choice": "burn"}),
    ("reject", {"cwd": "PROJECT", "all": True, "lines": [0, 1]}),
    ("reject", {"cwd": "PROJECT", "hunks": [{"id": 1}], "lines": [0, "x"]}),
    ("undo", {"cwd": "PROJECT", "all": True}),
    ("base", {"cwd": "PROJECT"}),
    ("base", {"cwd": "PROJECT", "path": "../a.txt"}),
]


async def test_parameters_that_do_not_fit_are_refused_and_decide_nothing(bench: Bench, connect: Connect) -> None:
    await edited(bench, {"a.txt": ("a\n", "b\n")})
    async with bench.running(), reviewer(connect) as client:
        for method, params in HOSTILE:
            given = {key: str(bench.project) if value == "PROJECT" else value for key, value in params.items()}
            with pytest.raises(AgentError) as refused:
                await client.request(f"_sould/review/{method}", given)
            assert refused.value.code == -32602, (method, params)
        with pytest.raises(AgentError) as unknown:
            await client.request("_sould/review/burn", cwd=str(bench.project))
        assert unknown.value.code == -32601
        assert len(await listed(client, bench)) == 1


async def test_paths_outside_the_project_name_nothing_in_it(bench: Bench, connect: Connect, tmp_path: Path) -> None:
    await edited(bench, {"a.txt": ("a\n", "b\n")})
    secret = tmp_path / "secret.txt"
    secret.write_text("mine\n")
    async with bench.running(), reviewer(connect) as client:
        cwd = str(bench.project)
        assert await listed(client, bench, paths=[str(secret), f"{cwd}/../other", "/"]) == await listed(client, bench)
        assert await listed(client, bench, paths=[str(secret), "/etc", "/" + "x" * 5000]) == []
        outcome = await client.request("_sould/review/reject", cwd=cwd, paths=[str(secret)])
        assert outcome == {"done": [], "left": []}
        for path in (secret, Path("/etc/passwd")):
            assert (await client.request("_sould/review/base", cwd=cwd, path=str(path)))["text"] is None
    assert secret.read_text() == "mine\n"


async def test_a_client_that_vanishes_leaves_the_others_as_they_are(bench: Bench, connect: Connect) -> None:
    await edited(bench, {"a.txt": ("a\n", "b\n")})
    async with bench.running(), reviewer(connect, "stays") as stays:
        await stays.request("_sould/review/subscribe", cwd=str(bench.project))
        async with reviewer(connect, "goes") as goes:
            await goes.request("_sould/review/subscribe", cwd=str(bench.project))
            goes.start("_sould/review/keep", cwd=str(bench.project), all=True)
        told = await told_of_decision(stays)
        assert [decision["by"] for decision in told["decisions"]] == ["goes"]
        assert await listed(stays, bench) == []


async def test_after_a_restart_a_client_goes_on_following_and_is_told_to_report_again(
    bench: Bench, connect: Connect
) -> None:
    await edited(bench, {"a.txt": ("a\nb\nc\n", "a\nB\nc\n")})
    records: list[ConnectionRecord] = []
    async with bench.running(), connect(remember=records.append) as client:
        await client.initialize(clientInfo={"name": "desk", "version": "1"})
        await client.request("_sould/review/subscribe", cwd=str(bench.project))
        await client.request("_sould/review/report", event="open", path=str(bench.project / "a.txt"))
        record = records[-1]
    resumed = ConnectionRecord.load(replace(record, unanswered=(), asked=()).dump())
    async with bench.running(), connect(resume=resumed) as client, reviewer(connect, "other") as other:
        await client.wait_for(lambda message: message.get("method") == "_sould/review/forgotten")
        told = await client.wait_for(lambda message: message.get("method") == CHANGED)
        assert told["params"]["everything"] is True
        await other.request("_sould/review/keep", cwd=str(bench.project), all=True)
        told = await told_of_decision(client)
        assert told["decisions"][0]["by"] == "other"


async def test_a_client_that_reads_nothing_is_kept_little_for(bench: Bench, connect: Connect) -> None:
    files = {f"{number}.txt": ("before\n", f"{'after' * 100}\n" * 600) for number in range(8)}
    await edited(bench, files)
    async with bench.running(), reviewer(connect, "deaf") as deaf, reviewer(connect) as client:
        for each in (deaf, client):
            await each.request("_sould/review/subscribe", cwd=str(bench.project))
        deaf.reading.clear()
        ids = [{"id": number} for number in range(1, 9)]
        for _ in range(8):
            await client.request("_sould/review/keep", cwd=str(bench.project), all=True)
            await client.request("_sould/review/undo", cwd=str(bench.project), hunks=ids)
        deaf.reading.set()
        last = (await client.request("_sould/review/list", cwd=str(bench.project)))["revision"]
        told = await deaf.wait_for(
            lambda message: message.get("method") == CHANGED and message["params"]["revision"] == last
        )
        assert told["params"]["others"], "what is too large is named only"
        size = sum(len(line) for side, line in deaf.log if side == "agent" and CHANGED in line)
        assert size < 8_000_000


# --- while a turn runs ----------------------------------------------------------------------------------------------------


async def test_a_keep_is_done_and_a_reject_waits_while_a_step_of_the_turn_runs(bench: Bench, connect: Connect) -> None:
    for name in ("a.txt", "b.txt"):
        (bench.project / name).write_text("1\n2\n3\n4\n5\n")
    edit = {"old": "1", "new": "one"}
    bench.script(
        call("WriteFile", path="a.txt", content="one\n2\n3\n4\nfive\n"),
        call("StrReplaceFile", path="b.txt", edit=edit),
        "text: done",
    )
    path, cwd = bench.project / "a.txt", str(bench.project)
    async with bench.running(), reviewer(connect) as client:
        watcher = Watcher(await bench.new("review"))
        async with Gate(bench, "b.txt").closed() as gate:
            turn = watcher.session.turns.prompt("go", "watcher")
            await watcher.wait_for(StepBegin, lambda step: step.n == 2)
            await client.request("_sould/review/subscribe", cwd=cwd)
            first, second = await listed(client, bench)

            kept = await client.request("_sould/review/keep", cwd=cwd, hunks=[{"id": first["id"]}])
            assert [done["id"] for done in kept["done"]] == [first["id"]]
            rejected = await client.request("_sould/review/reject", cwd=cwd, hunks=[{"id": second["id"]}])
            assert [(done["id"], done["waits"]) for done in rejected["done"]] == [(second["id"], True)]
            assert path.read_text() == "one\n2\n3\n4\nfive\n"
            assert [hunk["state"] for hunk in await listed(client, bench)] == ["rejecting"]
            told = await client.wait_for(lambda message: _decision(message).get("verdict") == "reject")
            assert _decision(told)["waits"] is True
            gate.open()
            await turn.outcome()
        assert path.read_text() == "one\n2\n3\n4\n5\n"
        told = await client.wait_for(
            lambda message: _decision(message).get("verdict") == "reject" and "waits" not in _decision(message)
        )
        assert _decision(told)["id"] == second["id"]


def _decision(message: Json) -> Json:
    """The last decision that a notification tells of."""
    return message.get("params", {}).get("decisions", [{}])[-1] if message.get("method") == CHANGED else {}


async def test_a_client_looks_at_any_number_of_projects_and_follows_a_bounded_one(
    bench: Bench, connect: Connect
) -> None:
    places = [bench.root / f"project{number}" for number in range(40)]
    async with bench.running(), reviewer(connect) as client:
        for place in places:
            place.mkdir()
            assert (await client.request("_sould/review/list", cwd=str(place)))["root"] == str(place)
        for place in places[:32]:
            await client.request("_sould/review/subscribe", cwd=str(place))
        with pytest.raises(AgentError) as refused:
            await client.request("_sould/review/subscribe", cwd=str(places[32]))
        assert refused.value.message == "A client follows 32 projects at most: unsubscribe from one first."
        await client.request("_sould/review/unsubscribe", cwd=str(places[0]))
        await client.request("_sould/review/subscribe", cwd=str(places[32]))


# --- what is about to be written -----------------------------------------------------------------------------------------


def streaming_in(name: str, texts: list[list[str]]) -> Callable[[Json], bool]:
    """Says of a message whether it tells that these lines, and no others, are about to be written into a file."""

    def tells(message: Json) -> bool:
        if message.get("method") != CHANGED:
            return False
        files = [file for file in message["params"]["files"] if Path(file["path"]).name == name]
        found = [[line["text"] for line in hunk["lines"]] for file in files for hunk in file.get("streaming", ())]
        return bool(files) and found == texts

    return tells


async def test_what_a_call_that_waits_is_about_to_write_is_shown_as_streaming_and_cannot_be_decided_yet(
    bench: Bench, connect: Connect
) -> None:
    (bench.project / "a.txt").write_text("1\n2\n3\n4\n5\n")
    (bench.project / "b.txt").write_text("b\n")
    write = call("WriteFile", path="b.txt", content="new\n")
    edit = call("StrReplaceFile", path="a.txt", edit=[{"old": "2", "new": "two"}, {"old": "5", "new": "five"}])
    bench.script(write + "\n" + edit.replace('"id": "1"', '"id": "2"'), "text: done")
    cwd = str(bench.project)
    async with bench.running(), reviewer(connect) as client:
        await client.request("_sould/review/subscribe", cwd=cwd)
        async with Gate(bench, "b.txt").closed() as gate:
            session = await bench.new("review")
            turn = session.turns.prompt("go", "watcher")
            await client.wait_for(streaming_in("a.txt", [["two\n"], ["five\n"]]))
            answer = await client.request("_sould/review/list", cwd=cwd)
            first, second = next(file for file in answer["files"] if file["path"].endswith("a.txt"))["streaming"]
            assert (first["state"], first["start"], first["base"]) == ("streaming", 1, ["2\n"])
            assert (second["start"], second["base"]) == (4, ["5\n"])
            assert [each["sessionId"] for each in first["agents"]] == [session.id]
            assert await listed(client, bench) == []
            decided = await client.request("_sould/review/reject", cwd=cwd, hunks=[{"id": first["id"]}])
            assert (decided["done"], [each["why"] for each in decided["left"]]) == ([], ["still_streaming"])
            kept = await client.request("_sould/review/keep", cwd=cwd, paths=[str(bench.project / "a.txt")])
            assert [each["id"] for each in kept["left"]] == [first["id"], second["id"]]
            assert (bench.project / "a.txt").read_text() == "1\n2\n3\n4\n5\n"
            gate.open()
        await turn.outcome()
        await client.wait_for(streaming_in("a.txt", []))
        after = await client.request("_sould/review/list", cwd=cwd)
        assert all("streaming" not in file for file in after["files"])
        hunks = [hunk for hunk in await listed(client, bench) if hunk["path"].endswith("a.txt")]
        assert [(hunk["state"], hunk["base"]) for hunk in hunks] == [("pending", ["2\n"]), ("pending", ["5\n"])]


async def test_what_a_call_was_about_to_write_vanishes_when_the_user_does_not_allow_it(
    bench: Bench, connect: Connect
) -> None:
    bench.script(call("WriteFile", path="new.txt", content="new\n"), "text: done")
    async with bench.running(), reviewer(connect) as client:
        await client.request("_sould/review/subscribe", cwd=str(bench.project))
        watcher = Watcher(await bench.new("ask"), answer=None)
        turn = watcher.session.turns.prompt("go", "watcher")
        await client.wait_for(streaming_in("new.txt", [["new\n"]]))
        request = await watcher.wait_for(ApprovalRequest)
        watcher.session.parts.attached.answer(ApprovalResponse(request_id=request.id, response="reject"), "watcher")
        await client.wait_for(streaming_in("new.txt", []))
        await turn.outcome()
        assert (await client.request("_sould/review/list", cwd=str(bench.project)))["files"] == []


@pytest.mark.parametrize("another", [False, True], ids=["nobody else", "another project's client"])
async def test_a_client_that_subscribes_later_is_shown_what_a_call_is_about_to_write_as_well(
    bench: Bench, connect: Connect, tmp_path: Path, another: bool
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    bench.script(call("WriteFile", path="new.txt", content="new\n"), "text: done")
    async with bench.running(), reviewer(connect) as other, reviewer(connect, "late") as client:
        if another:
            await other.request("_sould/review/subscribe", cwd=str(elsewhere))
        watcher = Watcher(await bench.new("ask"), answer=None)
        turn = watcher.session.turns.prompt("go", "watcher")
        request = await watcher.wait_for(ApprovalRequest)
        await client.request("_sould/review/subscribe", cwd=str(bench.project))
        await client.wait_for(streaming_in("new.txt", [["new\n"]]))
        watcher.session.parts.attached.answer(ApprovalResponse(request_id=request.id, response="reject"), "watcher")
        await client.wait_for(streaming_in("new.txt", []))
        await turn.outcome()


async def test_of_two_edits_of_a_file_in_one_step_the_second_is_shown_as_soon_as_it_fits(
    bench: Bench, connect: Connect
) -> None:
    first = call("StrReplaceFile", path="a.txt", edit={"old": "hello", "new": "bye"})
    shell = call("Shell", command="until [ -e go ]; do sleep 0.01; done").replace('"id": "1"', '"id": "2"')
    second = call("StrReplaceFile", path="a.txt", edit={"old": "bye", "new": "ciao"}).replace('"id": "1"', '"id": "3"')
    bench.script(f"{first}\n{shell}\n{second}", "text: done")
    async with bench.running(), reviewer(connect) as client:
        await client.request("_sould/review/subscribe", cwd=str(bench.project))
        session = await bench.new("full")
        turn = session.turns.prompt("go", "watcher")
        await client.wait_for(streaming_in("a.txt", [["ciao\n"]]))
        [hunk] = await listed(client, bench)
        assert (hunk["state"], [line["text"] for line in hunk["lines"]]) == ("pending", ["bye\n"])
        (bench.project / "go").touch()
        await turn.outcome()
    assert (bench.project / "a.txt").read_text() == "ciao\n"

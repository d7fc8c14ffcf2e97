"""Comments on what agents changed: gathered, sent as one message, answered by what the agent writes then (editors.md 2.6)."""

from typing import Any

import pytest
from tests.acp.server.test_review import CHANGED, edited, listed, reviewer

from sould.agents.wire.content import TextPart
from soultest.acpclient import AgentError
from soultest.bench import Bench, Watcher, asked, call, finish
from soultest.bench.acp import Connect

Json = dict[str, Any]


async def test_comments_of_several_clients_gather_and_are_listed_after_a_restart(
    bench: Bench, connect: Connect
) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "1\ntwo\n3\n")})
    cwd = str(bench.project)
    async with bench.running(), reviewer(connect, "one") as one, reviewer(connect, "other") as other:
        await other.request("_sould/review/subscribe", cwd=cwd)
        [hunk] = await listed(one, bench)
        about_hunk = await one.request("_sould/review/comment", cwd=cwd, hunk=hunk["id"], text="why two?")
        assert (about_hunk["comment"]["code"], about_hunk["comment"]["start"]) == (["two\n"], 1)
        told = await other.wait_for(lambda message: bool(message.get("params", {}).get("comments")))
        assert told["method"] == CHANGED
        assert [each["by"] for each in told["params"]["comments"]] == ["one"]
        path = str(bench.project / "a.txt")
        await other.request("_sould/review/comment", path=path, lines=[2, 3], text="draft")
        second = (await other.request("_sould/review/list", cwd=cwd))["comments"][1]
        await other.request(
            "_sould/review/comment", cwd=cwd, path=path, lines=[2, 3], text="and this?", id=second["id"]
        )
        third = await one.request("_sould/review/comment", cwd=cwd, path=path, lines=[0, 1], text="no")
        gone = await one.request("_sould/review/comment", cwd=cwd, id=third["comment"]["id"], text="")
        assert gone == {"comment": None}
    async with bench.running(), reviewer(connect) as client:
        comments = (await client.request("_sould/review/list", cwd=cwd))["comments"]
        assert [(each["text"], each["by"], each["code"]) for each in comments] == [
            ("why two?", "one", ["two\n"]),
            ("and this?", "other", ["3\n"]),
        ]


async def test_comments_that_are_made_and_sent_at_once_are_told_to_be_gone(bench: Bench, connect: Connect) -> None:
    await edited(bench, {"a.txt": ("1\n2\n3\n", "1\ntwo\n3\n")})
    cwd = str(bench.project)
    async with bench.running(), reviewer(connect) as client:
        await client.request("_sould/review/subscribe", cwd=cwd)
        await client.request(
            "_sould/review/comment", cwd=cwd, path=str(bench.project / "a.txt"), lines=[1, 2], text="why?"
        )
        await client.request("_sould/review/comments/send", cwd=cwd, send=False)
        await client.wait_for(lambda message: message.get("params", {}).get("comments") == [])


async def test_a_round_shows_what_changed_in_answer_and_marks_the_rest(bench: Bench, connect: Connect) -> None:
    (bench.project / "a.txt").write_text("1\n2\n3\n4\n5\n")
    (bench.project / "b.txt").write_text("x\n")
    bench.script(
        call("WriteFile", path="a.txt", content="one\n2\n3\n4\nfive\n"),
        call("WriteFile", path="b.txt", content="y\n"),
        "text: done",
        call("StrReplaceFile", path="a.txt", edit={"old": "five", "new": "FIVE"}),
        "text: as you say",
    )
    cwd = str(bench.project)
    async with bench.running(), reviewer(connect) as client:
        watcher = Watcher(await bench.new("review"))
        await finish(watcher.session, "go")
        first, second, third = await listed(client, bench)
        await client.request("_sould/review/comment", cwd=cwd, hunk=second["id"], text="In capitals, please.")
        sent = await client.request("_sould/review/comments/send", cwd=cwd)

        assert (sent["outcome"], sent["sessionId"]) == ("sent", watcher.session.id)
        assert sent["prompt"] == (
            "Comments of a review. Answer each: change the code accordingly, or say why not.\n\n"
            "1. a.txt:5\n```\nfive\n```\nIn capitals, please."
        )
        await watcher.wait_for(TextPart, lambda part: part.text == "as you say")
        assert asked(watcher.session)[-1] == sent["prompt"]
        now = {hunk["id"]: hunk for hunk in await listed(client, bench)}
        assert {number: hunk.get("earlier", False) for number, hunk in now.items()} == {
            first["id"]: True,
            second["id"]: False,
            third["id"]: True,
        }
        [answer] = await listed(client, bench, answers=True)
        assert [line["text"] for line in answer["lines"]] == ["FIVE\n"]
        after = await client.request("_sould/review/list", cwd=cwd)
        assert "comments" not in after
        assert (after["round"]["sessionId"], after["round"]["by"]) == (watcher.session.id, "desk")
        assert (await client.request("_sould/review/comments/send", cwd=cwd)) == {"outcome": "nothing"}


async def test_what_is_for_a_closed_session_opens_it(bench: Bench, connect: Connect) -> None:
    bench.settings["default_mode"] = "review"
    session = await edited(bench, {"a.txt": ("1\n2\n3\n", "1\ntwo\n3\n")})
    bench.script(call("StrReplaceFile", path="a.txt", edit={"old": "two", "new": "2"}), "text: as you say")
    cwd = str(bench.project)
    async with bench.running(), reviewer(connect) as client:
        await client.request("_sould/review/subscribe", cwd=cwd)
        [hunk] = await listed(client, bench)
        await client.request("_sould/review/comment", cwd=cwd, hunk=hunk["id"], text="a digit, please")
        sent = await client.request("_sould/review/comments/send", cwd=cwd)
        assert (sent["outcome"], sent["sessionId"]) == ("sent", session)
        await client.wait_for(
            lambda message: any(not file["hunks"] for file in message.get("params", {}).get("files", ()))
        )
        assert (bench.project / "a.txt").read_text() == "1\n2\n3\n"


async def test_what_is_for_a_session_that_is_gone_is_left_to_the_client(bench: Bench, connect: Connect) -> None:
    session = await edited(bench, {"a.txt": ("1\n2\n3\n", "1\ntwo\n````\n3\n")})
    cwd = str(bench.project)
    async with bench.running(), reviewer(connect) as client:
        [hunk] = await listed(client, bench)
        await client.request("_sould/review/comment", cwd=cwd, hunk=hunk["id"], text="why?")
        await bench.host.stored.delete(session)
        closed = await client.request("_sould/review/comments/send", cwd=cwd)
        assert (closed["outcome"], closed["sessionId"]) == ("closed", session)
        returned = await client.request("_sould/review/comments/send", cwd=cwd, send=False)
        assert returned["outcome"] == "returned"
        assert returned["prompt"].endswith("1. a.txt:2-3\n`````\ntwo\n````\n`````\nwhy?")
        assert (await listed(client, bench))[0]["earlier"] is True


async def test_comments_that_do_not_fit_are_refused(bench: Bench, connect: Connect) -> None:
    await edited(bench, {"a.txt": ("1\n", "2\n")})
    cwd = str(bench.project)
    outside = bench.root / "outside.txt"
    outside.write_text("secret\n")
    wrong: list[Json] = [
        {"text": "about nothing"},
        {"text": " "},
        {"text": "x" * 10_001, "hunk": 1},
        {"text": "no such hunk", "hunk": 99},
        {"text": "no such lines", "path": f"{cwd}/a.txt", "lines": [7, 9]},
        {"text": "no range", "path": f"{cwd}/a.txt"},
        {"text": "backwards", "path": f"{cwd}/a.txt", "lines": [1, 0]},
        {"text": "outside", "path": str(outside), "lines": [0, 1]},
        {"text": "a device", "path": "/dev/zero", "lines": [0, 1]},
    ]
    async with bench.running(), reviewer(connect) as client:
        for params in wrong:
            with pytest.raises(AgentError) as refused:
                await client.request("_sould/review/comment", {"cwd": cwd, **params})
            assert refused.value.code == -32602, params
        assert "comments" not in await client.request("_sould/review/list", cwd=cwd)


async def test_rejected_text_can_be_looked_at_and_brought_back(bench: Bench, connect: Connect) -> None:
    await edited(bench, {"a.txt": ("a\n", "a\nif it is so:\nraise an error here\n")})
    path = bench.project / "a.txt"
    path.write_text("a\nif it is so:\nraise an error now here\n")
    async with bench.running(), reviewer(connect) as client:
        cwd = str(bench.project)
        await client.request("_sould/review/reject", cwd=cwd, all=True, choice="drop", reason="not so")
        assert path.read_text() == "a\n"
        [found] = (await client.request("_sould/review/rejected", cwd=cwd))["hunks"]
        assert [line["text"] for line in found["hunk"]["lines"]] == ["if it is so:\n", "raise an error now here\n"]
        assert (found["hunk"]["state"], found["decision"]["by"]) == ("rejected", "desk")
        assert found["decision"]["reason"] == "not so"
        await client.request("_sould/review/undo", cwd=cwd, hunks=[{"id": found["hunk"]["id"]}])
        assert path.read_text() == "a\nif it is so:\nraise an error now here\n"


async def test_what_the_user_wrote_in_place_of_a_deleted_file_is_kept_when_it_is_replaced(
    bench: Bench, connect: Connect
) -> None:
    """review-cases.md, case 9."""
    old = bench.project / "a.txt"
    old.write_text("x\ny\n")
    bench.script(call("Shell", command="rm a.txt"), "text: done")
    cwd = str(bench.project)
    async with bench.running(), reviewer(connect) as client:
        watcher = Watcher(await bench.new("full"))
        await finish(watcher.session, "go")
        assert not old.exists()
        [deletion] = await listed(client, bench)
        old.write_text("new\n")
        await listed(client, bench)
        old.write_text("new\nwords\n")
        named = [{"id": deletion["id"]}]
        [left] = (await client.request("_sould/review/reject", cwd=cwd, hunks=named))["left"]
        assert (left["why"], left["choices"]) == ("conflict", ["replace", "leave"])
        await client.request("_sould/review/reject", cwd=cwd, hunks=named, choice="replace")
        assert old.read_text() == "x\ny\n"
        [dropped] = (await client.request("_sould/review/rejected", cwd=cwd))["dropped"]
        assert (dropped["text"], dropped["decision"]["by"]) == ("new\nwords\n", "desk")

import { describe, expect, it } from "vitest";
import { withRestriction } from "../src/connection/restricted";
import { Router } from "../src/panel/router";
import { FakeDaemon, settled } from "./fake/daemon";

describe("a workspace that is not trusted", () => {
  const opening = { cwd: "/shop", mcpServers: [], _meta: { other: 1, sould: { kept: true } } };

  it("is said of each session that is opened in it, beside what else is said", () => {
    expect(withRestriction("session/new", opening, ["/shop"], false)).toEqual({
      ...opening,
      _meta: { other: 1, sould: { kept: true, restricted: true } },
    });
    expect(withRestriction("session/resume", { cwd: "/shop/api" }, ["/shop"], true)).toEqual({
      cwd: "/shop/api",
      _meta: { sould: { restricted: false } },
    });
  });

  it("is nothing to sessions of other folders, nor to other requests", () => {
    expect(withRestriction("session/new", opening, ["/shopping"], false)).toBe(opening);
    expect(withRestriction("session/prompt", opening, ["/shop"], false)).toBe(opening);
  });

  it("is told otherwise, once its user trusts it, of every session that is shown", async () => {
    const daemon = new FakeDaemon();
    daemon.answers.set("session/resume", () => ({}));
    const router = new Router(daemon.connection, {} as never, () => undefined);
    const panel = router.attach(() => undefined);
    await panel.receive({
      jsonrpc: "2.0",
      id: 1,
      method: "session/resume",
      params: { sessionId: "s1", cwd: "/shop", mcpServers: [] },
    });
    await router.openAgain();
    await settled();
    expect(daemon.asked.map(({ method, params }) => [method, params["sessionId"], params["cwd"]])).toEqual([
      ["session/resume", "s1", "/shop"],
      ["session/resume", "s1", "/shop"],
    ]);
  });
});

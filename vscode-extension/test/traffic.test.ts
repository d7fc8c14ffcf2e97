import { describe, expect, it } from "vitest";
import { Traffic } from "../src/connection/traffic";

const SECRET = "sk-very-secret";

describe("the log of what passes over the connection", () => {
  it("has methods, sessions, kinds and sizes, and nothing of the contents", async () => {
    const lines: string[] = [];
    const traffic = new Traffic(
      () => true,
      (line) => {
        lines.push(line);
      },
    );
    const prompt = { sessionId: "s-1", prompt: [{ type: "text", text: SECRET }] };
    expect(await traffic.asking("session/prompt", prompt, () => Promise.resolve({ stopReason: SECRET }))).toEqual({
      stopReason: SECRET,
    });
    traffic.told("session/update", {
      sessionId: "s-1",
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: SECRET } },
    });
    const failing = traffic.asked("session/request_permission", { sessionId: `../${SECRET}` }, () =>
      Promise.reject(Object.assign(new Error(SECRET), { code: -32603 })),
    );
    await expect(failing).rejects.toThrow(SECRET);
    traffic.telling("session/cancel", { sessionId: "s-1", update: { sessionUpdate: `Not A Kind ${SECRET}` } });
    const shown = lines.map((line) => line.replace(/\d+ (ms|characters)/g, "N $1"));
    expect(shown).toEqual([
      "-> session/prompt? in s-1 N characters",
      "<- session/prompt answered after N ms, N characters",
      "<- session/update agent_message_chunk in s-1 N characters",
      "<- session/request_permission? N characters",
      "-> session/request_permission failed after N ms, error -32603",
      "-> session/cancel in s-1 N characters",
    ]);
  });

  it("writes nothing while nobody has it on", async () => {
    const traffic = new Traffic(
      () => false,
      () => {
        throw new Error("it wrote");
      },
    );
    expect(await traffic.asking("initialize", {}, () => Promise.resolve(1))).toBe(1);
    traffic.told("session/update", {});
  });
});

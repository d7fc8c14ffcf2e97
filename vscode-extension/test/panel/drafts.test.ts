import { beforeEach, describe, expect, it, vi } from "vitest";
import { Panel } from "../../panel/app/panel";
import type { Session } from "../../panel/app/session";
import type { Kept, Link, Message } from "../../panel/link";
import type { Block } from "../../panel/session/updates";

const LINK: Block = { type: "link", uri: "file:///shop/a.ts", name: "a.ts" };
const FAILURE = { code: -32603, message: "The disk is full." };

/** A daemon that answers what the test has it answer. */
class FakeLink implements Link {
  readonly theme = "dark";
  readonly said: Message[] = [];
  state: Kept = { session: { id: "s", cwd: "/shop" } };
  tell: (message: Message) => void = () => undefined;
  send(message: Message): void {
    this.said.push(message);
  }
  onMessage(listener: (message: Message) => void): void {
    this.tell = listener;
  }
  onTheme(): void {
    /* one only */
  }
  openFile(): void {
    /* none */
  }
  pickFile(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }
  saveFile(): Promise<void> {
    return Promise.resolve();
  }

  methods(): string[] {
    return this.said.flatMap((each) => ("method" in each ? [each.method] : []));
  }

  async answers(method: string, answer: { result: unknown } | { error: typeof FAILURE }): Promise<void> {
    const asked = this.said.findLast((each) => "method" in each && "id" in each && each.method === method);
    expect(asked).toBeDefined();
    this.tell({ jsonrpc: "2.0", id: asked !== undefined && "id" in asked ? asked.id : "", ...answer });
    await settled();
  }

  queue(...prompts: object[]): void {
    const waiting = prompts.map((prompt, at) => ({ position: at + 1, ...prompt }));
    this.tell({ jsonrpc: "2.0", method: "_sould/queue", params: { sessionId: "s", prompts: waiting } });
  }
}

/** What was answered has been taken. */
async function settled(): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

function words(text: string): Block {
  return { type: "text", text };
}

let link: FakeLink;
let panel: Panel;
let session: Session;

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", () => 0);
  vi.stubGlobal("cancelAnimationFrame", () => undefined);
  link = new FakeLink();
  panel = new Panel(link);
  const shown = panel.session.value;
  if (shown === undefined) {
    throw new Error("No session is shown.");
  }
  session = shown;
});

describe("a stop", () => {
  it("brings what this window had queued back, before what is being written; what others queued stays", () => {
    panel.drafts.change("s", () => ({ text: "more", attached: [] }));
    const link1 = { type: "resource_link", uri: "file:///shop/a.ts", name: "a.ts" };
    link.queue(
      { id: "1", mine: true, prompt: [words("one"), link1] },
      { id: "2", mine: false, prompt: [words("theirs")] },
      { id: "3", mine: true, prompt: [words("three")] },
    );
    panel.stop(session);
    panel.stop(session);
    expect(panel.drafts.of("s")).toEqual({ text: "one\n\nthree\n\nmore", attached: [LINK] });
    expect(session.queue.value.map((each) => each.id)).toEqual(["2"]);
    expect(link.methods()).toContain("session/cancel");
  });

  it("says so of a prompt that was still on its way, with its words", async () => {
    void session.prompt([words("late"), LINK]);
    panel.stop(session);
    await link.answers("session/prompt", { result: { stopReason: "cancelled" } });
    expect(session.trouble.value).toMatchObject({
      message: "This was stopped before it was taken.",
      blocks: [words("late"), LINK],
    });
  });
});

describe("words for the running turn", () => {
  it("are there to be sent again when they cannot be given", async () => {
    void session.steer([words("also this")]);
    await link.answers("_session/steering", { error: FAILURE });
    expect(session.trouble.value).toEqual({ message: FAILURE.message, blocks: [words("also this")], signIn: false });
    expect(session.sending.value).toEqual([]);
  });

  it("are so, too, when they were taken out of the queue for it", async () => {
    link.queue({ id: "1", mine: true, prompt: [words("now")] });
    const [queued] = session.queue.value;
    void (queued && session.sendNow(queued));
    await link.answers("_sould/queue/remove", { result: { outcome: "removed", prompts: [] } });
    await link.answers("_session/steering", { error: FAILURE });
    expect(session.trouble.value?.blocks).toEqual([words("now")]);
  });
});

describe("a queued prompt that is changed", () => {
  it("is known to have begun", async () => {
    const changed = session.editQueued({ id: "1", blocks: [], mine: true }, [words("other")]);
    await link.answers("_sould/queue/edit", { result: { outcome: "notWaiting", prompts: [] } });
    expect(await changed).toBe(false);
  });
});

describe("what is sent from an earlier point", () => {
  const from = { session: "s", checkpoint: 3 };
  const draft = { text: "instead", attached: [LINK] };

  it("is sent when everything has gone back", async () => {
    void panel.resend(session, from, draft);
    await link.answers("_sould/rewind", { result: { outcome: "done", files: [] } });
    expect(link.said.at(-1)).toMatchObject({
      method: "session/prompt",
      params: { prompt: [words("instead"), { type: "resource_link" }] },
    });
    expect(panel.drafts.of("s").text).toBe("");
  });

  it.each([
    ["was cancelled", { result: { outcome: "cancelled", files: [] } }, "It was cancelled. The message was not sent."],
    [
      "leads nowhere",
      { result: { outcome: "nothing", files: [] } },
      "There is nothing to go back to. The message was not sent.",
    ],
    ["failed", { error: FAILURE }, FAILURE.message],
  ])("is written on when going back %s", async (_, answer, said) => {
    void panel.resend(session, from, draft);
    panel.drafts.change("s", () => ({ text: "since", attached: [] }));
    await link.answers("_sould/rewind", answer);
    expect(link.methods()).not.toContain("session/prompt");
    expect(panel.drafts.of("s")).toEqual({ text: "instead\n\nsince", attached: [LINK] });
    expect(panel.resending.value).toEqual(from);
    expect(panel.problem.value).toBe(said);
  });
});

describe("a draft", () => {
  it("is its session's own, and its words outlive a reload", () => {
    panel.offer({ text: "here", attached: [LINK] });
    panel.begin();
    expect(panel.drafts.of("")).toEqual({ text: "", attached: [] });
    panel.offer({ text: "new", attached: [] });
    panel.offer({ text: "and more", attached: [] });
    expect(panel.drafts.of("s")).toEqual({ text: "here", attached: [LINK] });
    expect(new Panel(link).drafts.of("").text).toBe("new\nand more");
    expect(new Panel(link).drafts.of("s").text).toBe("here");
  });
});

/** A question to the model on the side: it has no tools, nothing of it is kept, and no panel shows it. */
import * as z from "zod";
import type { Daemon } from "./router";

const opened = z.object({ sessionId: z.string() });
const update = z.object({
  sessionId: z.string(),
  update: z.object({ sessionUpdate: z.literal("agent_message_chunk"), content: z.object({ text: z.string() }) }),
});

export class Asides {
  readonly #daemon: Daemon;
  /** What was said, by session. */
  readonly #said = new Map<string, string>();

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  /** Takes what the daemon says. */
  told(method: string, params: unknown): void {
    if (method === "session/update" && this.#said.size > 0) {
      const said = update.safeParse(params);
      const before = said.success ? this.#said.get(said.data.sessionId) : undefined;
      if (said.success && before !== undefined) {
        this.#said.set(said.data.sessionId, before + said.data.update.content.text);
      }
    }
  }

  /** The answer to a question, asked where the project's instructions are known. Raises what the daemon answers with. */
  async ask(cwd: string, question: string, withdrawn?: AbortSignal): Promise<string> {
    await this.#daemon.connect();
    const { sessionId } = opened.parse(await this.#daemon.request("session/new", { cwd, mcpServers: [] }));
    this.#said.set(sessionId, "");
    try {
      const prompt = [{ type: "text", text: `/btw ${question}` }];
      await this.#daemon.request("session/prompt", { sessionId, prompt }, withdrawn);
      return this.#said.get(sessionId) ?? "";
    } finally {
      this.#said.delete(sessionId);
      // It held nothing but the question.
      await this.#daemon.request("session/delete", { sessionId }).catch(() => undefined);
    }
  }
}

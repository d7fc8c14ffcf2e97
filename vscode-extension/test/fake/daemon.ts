/** The daemon's end of the connection: it notes what it is asked, and answers when the test says so. */
import type { Connection } from "../../src/connection/connection";

interface Request {
  readonly method: string;
  readonly params: Record<string, unknown>;
  readonly withdrawn: AbortSignal | undefined;
  readonly answer: (result: unknown) => void;
  readonly fail: (problem: Error) => void;
}

export class FakeDaemon {
  state = "connected";
  problem = "";
  version = "1.2.3";
  introduction: object | undefined = { protocolVersion: 1, agentInfo: { name: "sould", version: "1.2.3" } };
  readonly asked: Request[] = [];
  readonly told: { method: string; params: object }[] = [];
  /** What it answers at once, by method. */
  readonly answers = new Map<string, (params: Record<string, unknown>) => unknown>();
  readonly #listening = new Set<() => void>();

  /** As the modules of the host take it. */
  get connection(): Connection {
    return this as unknown as Connection;
  }

  connect(): Promise<void> {
    return Promise.resolve();
  }

  onDidChangeState(listener: () => void): { dispose(): void } {
    this.#listening.add(listener);
    return { dispose: () => this.#listening.delete(listener) };
  }

  request(method: string, params: object, withdrawn?: AbortSignal): Promise<unknown> {
    return new Promise((answer, fail) => {
      const given = params as Record<string, unknown>;
      this.asked.push({ method, params: given, withdrawn, answer, fail });
      const at = this.answers.get(method);
      if (at !== undefined) {
        answer(at(given)); // what it throws is the answer, too
      }
    });
  }

  notify(method: string, params: object): void {
    this.told.push({ method, params });
  }

  become(state: string, problem = ""): void {
    this.state = state;
    this.problem = problem;
    this.#listening.forEach((each) => {
      each();
    });
  }
}

/** All that was put off until what is going on is done, is done. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/**
 * What passes over the connection, for the log: methods, sessions, sizes and durations. Never contents: no text, no path, no key.
 *
 * Costs nothing while nobody has it on.
 */
const KINDS = /^[a-z_]{1,40}$/;
const IDS = /^[0-9A-Za-z_-]{1,64}$/;

export class Traffic {
  readonly #isOn: () => boolean;
  readonly #write: (line: string) => void;

  constructor(isOn: () => boolean, write: (line: string) => void) {
    this.#isOn = isOn;
    this.#write = write;
  }

  /** A request to the daemon, and what became of it. */
  async asking<T>(method: string, params: unknown, does: () => Promise<T>): Promise<T> {
    return await this.#exchange(["->", "<-"], method, params, does);
  }

  /** A request of the daemon's. */
  async asked<T>(method: string, params: unknown, does: () => Promise<T>): Promise<T> {
    return await this.#exchange(["<-", "->"], method, params, does);
  }

  telling(method: string, params: unknown): void {
    this.#say("->", method, params);
  }

  told(method: string, params: unknown): void {
    this.#say("<-", method, params);
  }

  async #exchange<T>(
    [there, back]: readonly [string, string],
    method: string,
    params: unknown,
    does: () => Promise<T>,
  ): Promise<T> {
    if (!this.#isOn()) {
      return await does();
    }
    this.#say(there, `${method}?`, params);
    const began = performance.now();
    const took = (): string => `${Math.round(performance.now() - began)} ms`;
    try {
      const answer = await does();
      this.#write(`${back} ${method} answered after ${took()}, ${size(answer)}`);
      return answer;
    } catch (problem) {
      this.#write(`${back} ${method} failed after ${took()}${codeOf(problem)}`);
      throw problem;
    }
  }

  #say(direction: string, method: string, params: unknown): void {
    if (this.#isOn()) {
      this.#write([direction, method, ...about(params), size(params)].join(" "));
    }
  }
}

/** The session, and the kind of an update: what is left out when it is not as such things look. */
function about(params: unknown): string[] {
  const { sessionId, update } = asObject(params);
  const { sessionUpdate } = asObject(update);
  return [
    ...(typeof sessionUpdate === "string" && KINDS.test(sessionUpdate) ? [sessionUpdate] : []),
    ...(typeof sessionId === "string" && IDS.test(sessionId) ? [`in ${sessionId}`] : []),
  ];
}

function size(value: unknown): string {
  return `${JSON.stringify(value ?? null).length} characters`;
}

function codeOf(problem: unknown): string {
  const { code } = asObject(problem);
  return typeof code === "number" ? `, error ${code}` : "";
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

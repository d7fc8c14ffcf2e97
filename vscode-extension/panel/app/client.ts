/** JSON-RPC over the link: requests with answers, notifications by method, and what the daemon asks of the user. Knows no session. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Failure, Id, Link, Message } from "../link";
import { object, own, text } from "../session/read";

/** A request was answered with an error. */
export class RequestFailed extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(failure: Failure) {
    super(failure.message);
    this.code = failure.code;
    this.data = failure.data;
  }
}

/** What the daemon asks, until it is answered here or elsewhere. */
export interface Question {
  readonly id: Id;
  readonly method: string;
  readonly params: unknown;
  /** When it came, in milliseconds: keys that were meant for something else do not answer it. */
  readonly since: number;
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (problem: RequestFailed) => void;
}

const UNKNOWN_METHOD = -32601;
const LOST = -1;

export class Client {
  readonly #link: Link;
  readonly #waiting = new Map<Id, Waiting>();
  readonly #told = new Map<string, (params: unknown) => void>();
  readonly #questions = signal<readonly Question[]>([]);
  readonly #ended = signal<string>("");
  #last = 0;

  constructor(link: Link) {
    this.#link = link;
    link.onMessage((message) => {
      this.#take(message);
    });
  }

  /** What waits for the user, oldest first. */
  get questions(): ReadonlySignal<readonly Question[]> {
    return this.#questions;
  }

  /** How a question ended that was answered elsewhere; "" when it was not. */
  get endedElsewhere(): ReadonlySignal<string> {
    return this.#ended;
  }

  /** Rejects with RequestFailed. */
  request(method: string, params: object): Promise<unknown> {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#link.send({ jsonrpc: "2.0", id, method, params });
    });
  }

  notify(method: string, params: object): void {
    this.#link.send({ jsonrpc: "2.0", method, params });
  }

  /** One listener for each method. */
  on(method: string, listener: (params: unknown) => void): void {
    this.#told.set(method, listener);
  }

  answer(question: Question, result: object): void {
    if (this.#remove(question.id)) {
      this.#link.send({ jsonrpc: "2.0", id: question.id, result });
    }
  }

  /** Says that it cannot be shown here. */
  refuse(question: Question, message: string): void {
    if (this.#remove(question.id)) {
      this.#link.send({ jsonrpc: "2.0", id: question.id, error: { code: UNKNOWN_METHOD, message } });
    }
  }

  /** The connection is gone: nothing that waits is answered any more, and what was asked is asked again over the next one. */
  lost(problem: string): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#questions.value = [];
    waiting.forEach((each) => {
      each.reject(new RequestFailed({ code: LOST, message: problem }));
    });
  }

  #take(message: Message): void {
    if (!("method" in message)) {
      this.#answered(message);
    } else if ("id" in message) {
      const { id, method, params } = message;
      this.#questions.value = [
        ...this.#questions.value.filter((each) => each.id !== id),
        { id, method, params, since: performance.now() },
      ];
    } else if (message.method === "$/cancel_request") {
      this.#withdrawn(object(message.params));
    } else {
      this.#told.get(message.method)?.(message.params);
    }
  }

  #answered(message: Exclude<Message, { method: string }>): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ("error" in message) {
      waiting?.reject(new RequestFailed(message.error));
    } else {
      waiting?.resolve(message.result);
    }
  }

  #withdrawn(params: Readonly<Record<string, unknown>>): void {
    const id = params["requestId"];
    if ((typeof id === "string" || typeof id === "number") && this.#remove(id)) {
      this.#ended.value = text(own(params)["reason"]);
    }
  }

  #remove(id: Id): boolean {
    const left = this.#questions.value.filter((each) => each.id !== id);
    const found = left.length < this.#questions.value.length;
    this.#questions.value = left;
    return found;
  }
}

/** Whether a request failed because the connection was lost, and nothing is known of what became of it. */
export function wasLost(problem: unknown): boolean {
  return problem instanceof RequestFailed && problem.code === LOST;
}

/** Requests of a link itself, with ids that no request of the panel has. */
import type { Message } from "../link";
import { list, object, text, type Json } from "../session/read";

const PREFIX = "link:";

export class Asking {
  readonly #post: (message: Message) => void;
  readonly #waiting = new Map<string, (result: Json) => void>();
  #last = 0;

  constructor(post: (message: Message) => void) {
    this.#post = post;
  }

  /** The files the user chose. */
  async pickFile(): Promise<readonly string[]> {
    this.#last += 1;
    const id = `${PREFIX}${this.#last}`;
    const result = await new Promise<Json>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#post({ jsonrpc: "2.0", id, method: "_panel/pickFile", params: {} });
    });
    return list(result["paths"]).map((path) => text(path));
  }

  /** Whether the message was an answer to a request from here. */
  took(message: Json): boolean {
    const id = message["id"];
    const waiting = typeof id === "string" && !("method" in message) ? this.#waiting.get(id) : undefined;
    if (waiting === undefined || typeof id !== "string") {
      return false;
    }
    this.#waiting.delete(id);
    waiting(object(message["result"]));
    return true;
  }
}

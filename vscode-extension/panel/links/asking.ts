/** Requests of a link itself, with ids that no request of the panel has. */
import type { Message } from "../link";
import { list, object, text, type Json } from "../session/read";

const PREFIX = "link:";

export class Asking {
  readonly #post: (message: Message) => void;
  readonly #waiting = new Map<string, (answer: Json) => void>();
  #last = 0;

  constructor(post: (message: Message) => void) {
    this.#post = post;
  }

  /** The files the user chose. */
  async pickFile(): Promise<readonly string[]> {
    return list((await this.#ask("_panel/pickFile", {}))["paths"]).map((path) => text(path));
  }

  async saveFile(name: string, words: string): Promise<void> {
    await this.#ask("_panel/saveFile", { name, text: words });
  }

  /** Whether the message was an answer to a request from here. */
  took(message: Json): boolean {
    const id = message["id"];
    const waiting = typeof id === "string" && !("method" in message) ? this.#waiting.get(id) : undefined;
    if (waiting === undefined || typeof id !== "string") {
      return false;
    }
    this.#waiting.delete(id);
    waiting(message);
    return true;
  }

  /** Rejects with what the other end says. */
  async #ask(method: string, params: object): Promise<Json> {
    this.#last += 1;
    const id = `${PREFIX}${this.#last}`;
    const answer = await new Promise<Json>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#post({ jsonrpc: "2.0", id, method, params });
    });
    if ("error" in answer) {
      throw new Error(text(object(answer["error"])["message"]));
    }
    return object(answer["result"]);
  }
}

/** What waits for a person, in all projects of the daemon. Pure. An item that ended anywhere is gone here. */
import { Emitter } from "../emitter";
import type { InboxChanged, InboxItem } from "../protocol/inbox";

export class InboxModel {
  #items = new Map<string, InboxItem>();
  readonly #changed = new Emitter<undefined>();
  /** Calls back when something waits more, less, or otherwise. */
  readonly onDidChange = this.#changed.event;

  /** What waits longest first. */
  get items(): InboxItem[] {
    return [...this.#items.values()].sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
  }

  item(id: string): InboxItem | undefined {
    return this.#items.get(id);
  }

  /** Take a whole list. */
  take(items: readonly InboxItem[]): void {
    this.#items = new Map(items.map((item) => [item.id, item]));
    this.#changed.fire(undefined);
  }

  /** Take what changed. Returns whether the list is to be asked for again. */
  change(news: InboxChanged): boolean {
    for (const item of news.items) {
      this.#items.set(item.id, item);
    }
    for (const { id } of news.ended) {
      this.#items.delete(id);
    }
    this.#changed.fire(undefined);
    return news.everything;
  }
}

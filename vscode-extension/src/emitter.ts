/** Tells listeners what happened, each by itself: one that throws is logged, and the others are told. Knows no `vscode`. */
export class Emitter<T> {
  readonly #listening = new Set<(news: T) => void>();

  /** Calls back with what is fired. Returns what ends that. */
  readonly event = (listener: (news: T) => void): { dispose(): void } => {
    this.#listening.add(listener);
    return { dispose: () => this.#listening.delete(listener) };
  };

  fire(news: T): void {
    for (const listener of this.#listening) {
      try {
        listener(news);
      } catch (problem) {
        console.error("sould:", problem);
      }
    }
  }

  dispose(): void {
    this.#listening.clear();
  }
}

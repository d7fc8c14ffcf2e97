/**
 * What is read when the page stands: Markdown and the colours of code, which are more than half of the panel's script.
 *
 * It is a file of its own (`scripts/build.mjs`). Until it is there, and if it cannot be read, words are shown as they were written.
 */
import { signal, type ReadonlySignal } from "@preact/signals";

type Markdown = typeof import("./markdown");

const read = signal<Markdown | undefined>(undefined);
export const markdown: ReadonlySignal<Markdown | undefined> = read;

/** Begins behind the first frame. */
export function readLater(): void {
  requestAnimationFrame(() => {
    setTimeout(() => {
      import("./markdown").then(
        (found) => {
          read.value = found;
        },
        () => undefined,
      );
    });
  });
}

/** Puts off work to the next frame, so that however much arrives, the page is drawn once for all of it. */
const HIDDEN = 250;

export class Frames<Part> {
  readonly #work: (parts: readonly Part[]) => void;
  #parts: Part[] = [];
  #planned = false;

  constructor(work: (parts: readonly Part[]) => void) {
    this.#work = work;
  }

  add(part: Part): void {
    this.#parts.push(part);
    if (!this.#planned) {
      this.#planned = true;
      // A page that is not visible has no frames.
      if (document.hidden) {
        setTimeout(() => {
          this.flush();
        }, HIDDEN);
      } else {
        requestAnimationFrame(() => {
          this.flush();
        });
      }
    }
  }

  /** Now, for what must come before what follows. */
  flush(): void {
    this.#planned = false;
    if (this.#parts.length > 0) {
      const parts = this.#parts;
      this.#parts = [];
      this.#work(parts);
    }
  }
}

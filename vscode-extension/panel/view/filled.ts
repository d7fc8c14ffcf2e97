/** Sentences with elements in them, which are translated whole. */
import type { ComponentChildren } from "preact";

/** The sentence with each `{0}`, `{1}` ... replaced by its part. */
export function filled(sentence: string, ...parts: readonly ComponentChildren[]): ComponentChildren {
  return sentence.split(/\{(\d)\}/).map((each, at) => (at % 2 === 0 ? each : parts[Number(each)]));
}

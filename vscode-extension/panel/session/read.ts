/** Reading what came in from outside, leniently: what is absent or of another kind is a default, never an exception. Pure. */

export type Json = Readonly<Record<string, unknown>>;

export function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

export function text(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

export function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** One of a fixed set of words. */
export function oneOf<Word extends string>(value: unknown, words: readonly Word[], otherwise: Word): Word {
  return words.find((word) => word === value) ?? otherwise;
}

/** What is ours in `_meta`. */
export function own(value: Json): Json {
  return object(object(value["_meta"])["sould"]);
}

/** Whether a field is there at all, be it null. */
export function has(value: Json, field: string): boolean {
  return Object.hasOwn(value, field) && value[field] !== undefined;
}

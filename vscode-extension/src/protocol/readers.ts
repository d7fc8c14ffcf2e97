/**
 * What the readers of messages are made of, for the window and for the panel's page. Pure.
 *
 * A reader returns a value as it is known here, or undefined for what cannot be read. Fields that are not known are left out: behind a
 * reader nothing is missing, and nothing is unknown.
 */
export type Reader<T> = (value: unknown) => T | undefined;

type Fields<T> = { readonly [Name in keyof T]: Reader<T[Name]> };

export function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function flag(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

export function object(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** Numbers by name. */
export function numbers(value: unknown): Record<string, number> | undefined {
  const isRead = Object.values(object(value) ?? [undefined]).every((each) => number(each) !== undefined);
  return isRead ? (value as Record<string, number>) : undefined;
}

/** One of these words; one that is not known is read as `other`, if there is that. */
export function oneOf<const Word extends string, const Other extends string = never>(
  words: readonly Word[],
  other?: Other,
): Reader<Word | NoInfer<Other>> {
  return (value) => words.find((word) => word === value) ?? (typeof value === "string" ? other : undefined);
}

export function nullable<T>(read: Reader<T>): Reader<T | null> {
  return (value) => (value === null ? null : read(value));
}

/** What may be left out. */
export function or<T>(read: Reader<T>, otherwise: NoInfer<T>): Reader<T> {
  return (value) => (value === undefined ? otherwise : read(value));
}

/** All of it, or nothing. */
export function list<T>(read: Reader<T>): Reader<T[]> {
  return (value) => {
    const all = eachOf(read, value);
    return all?.every((each) => each !== undefined) ? all : undefined;
  };
}

/** Those that can be read; others are left out, as if they were not there. */
export function known<T>(read: Reader<T>): Reader<T[]> {
  return (value) => eachOf(read, value)?.filter((each) => each !== undefined);
}

function eachOf<T>(read: Reader<T>, value: unknown): (T | undefined)[] | undefined {
  return Array.isArray(value) ? value.map((each: unknown) => read(each)) : undefined;
}

/** An object with these fields. They are made when one is read for the first time: what is never read is left out of the bundle. */
export function shape<T extends object>(fields: () => Fields<T>): Reader<T> {
  let all: [string, Reader<unknown>][] | undefined;
  return (value) => {
    const given = object(value);
    if (given === undefined) {
      return undefined;
    }
    const read: Record<string, unknown> = {};
    for (const [name, field] of (all ??= Object.entries(fields()))) {
      read[name] = field(given[name]);
      if (read[name] === undefined) {
        return undefined;
      }
    }
    return read as T;
  };
}

/** What cannot be done without. Throws. */
export function parse<T>(read: Reader<T>, value: unknown): T {
  const found = read(value);
  if (found === undefined) {
    throw new Error("sould said what cannot be read here: is the extension as new as it?");
  }
  return found;
}

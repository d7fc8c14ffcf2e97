/** Paths and lines as people are shown them: nothing in them is invisible or changes the direction of reading. Pure. */

/** With a mark like `\u202e` for each character that prints nothing; tabs stay. */
export function visible(text: string): string {
  return text.replace(/[\p{C}\p{DI}\p{Zl}\p{Zp}]/gu, (each) =>
    each === "\t" ? each : marked(each.codePointAt(0) ?? 0),
  );
}

/** The last part of a path, or the path where it has none. */
export function nameOf(path: string): string {
  return visible(path.replace(/\/$/, "").split("/").at(-1) ?? path);
}

function marked(code: number): string {
  const digits = code.toString(16);
  return code > 0xffff ? `\\U${digits.padStart(8, "0")}` : `\\u${digits.padStart(4, "0")}`;
}

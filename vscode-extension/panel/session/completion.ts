/** What stands at the cursor of the composer that can be completed: a command at the beginning, a mention anywhere. Pure. */
import type { Command } from "./updates";

export interface Completing {
  readonly kind: "command" | "mention";
  /** What is typed of it, without its sign. */
  readonly typed: string;
  /** Where it begins, its sign included. */
  readonly from: number;
}

/** Undefined when there is nothing to complete. */
export function completingAt(text: string, cursor: number): Completing | undefined {
  const before = text.slice(0, cursor);
  const command = /^\/([^\s]*)$/.exec(before);
  if (command !== null) {
    return { kind: "command", typed: command[1] ?? "", from: 0 };
  }
  const mention = /(?:^|[\s(])@([^\s@]*)$/.exec(before);
  return mention === null
    ? undefined
    : { kind: "mention", typed: mention[1] ?? "", from: cursor - (mention[1] ?? "").length - 1 };
}

/** The commands that fit what is typed: those that begin with it first. */
export function fitting(commands: readonly Command[], typed: string): readonly Command[] {
  const words = typed.toLowerCase();
  const begin = commands.filter((command) => command.name.toLowerCase().startsWith(words));
  const contain = commands.filter((command) => !begin.includes(command) && command.name.toLowerCase().includes(words));
  return [...begin, ...contain];
}

/** The text with what was completed replaced, and where the cursor is then. */
export function completed(
  text: string,
  cursor: number,
  completing: Completing,
  words: string,
): { readonly text: string; readonly cursor: number } {
  const rest = text.slice(cursor);
  const gap = rest.startsWith(" ") ? "" : " ";
  return { text: text.slice(0, completing.from) + words + gap + rest, cursor: completing.from + words.length + 1 };
}

/** The end of a path that tells it from others: relative to the root it is in. */
export function relative(path: string, root: string): string {
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
}

/** A `file:` address. */
export function fileUri(path: string): string {
  return `file://${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** What commands put into the composer of a panel: words, and what goes with them. Pure; nothing is ever sent from here. */

/** A block of a prompt, as ACP has it. */
export type Block =
  | { readonly type: "resource_link"; readonly uri: string; readonly name: string }
  | { readonly type: "resource"; readonly resource: { readonly uri: string; readonly text: string } };

/** Lines of a file, counted from 1, the last included, with their text. */
interface Lines {
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface Problem {
  readonly line: number;
  readonly message: string;
  readonly source: string;
}

/** A whole file, or a directory: the agent reads it itself. */
export function linkTo(path: string): Block {
  return { type: "resource_link", uri: uriOf(path), name: nameOf(path) };
}

export function linesOf(lines: Lines): Block {
  const place = lines.from === lines.to ? `L${lines.from}` : `L${lines.from}-${lines.to}`;
  return { type: "resource", resource: { uri: `${uriOf(lines.path)}#${place}`, text: lines.text } };
}

export function explaining(path: string): string {
  return `Explain this part of ${nameOf(path)}: what it does, and why it may be written this way.`;
}

export function fixing(path: string, problems: readonly Problem[]): string {
  const said = problems.map((each) => `- line ${each.line}: ${each.message}${each.source && ` (${each.source})`}`);
  return [`Fix ${problems.length === 1 ? "this problem" : "these problems"} in ${nameOf(path)}:`, ...said].join("\n");
}

/** What a terminal shows, as a block that nothing in it can end. */
export function ofTerminal(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((each) => each[0].length));
  const fence = "`".repeat(longest + 1);
  return `From the terminal:\n\n${fence}\n${text.replace(/\s+$/, "")}\n${fence}\n`;
}

function uriOf(path: string): string {
  return `file://${path.split("/").map(encodeURIComponent).join("/")}`;
}

function nameOf(path: string): string {
  return path.replace(/\/$/, "").split("/").at(-1) ?? path;
}

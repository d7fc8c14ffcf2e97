/** What commands put into the composer of a panel: words, and what goes with them. Pure; nothing is ever sent from here. */
import { l10n } from "vscode";

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
  return l10n.t("Explain this part of {0}: what it does, and why it may be written this way.", nameOf(path));
}

export function fixing(path: string, problems: readonly Problem[]): string {
  const said = problems.map((each) => {
    const line = l10n.t("- line {0}: {1}", each.line, each.message);
    return each.source === "" ? line : `${line} (${each.source})`;
  });
  const asked =
    problems.length === 1
      ? l10n.t("Fix this problem in {0}:", nameOf(path))
      : l10n.t("Fix these problems in {0}:", nameOf(path));
  return [asked, ...said].join("\n");
}

/** What a terminal shows, as a block that nothing in it can end. */
export function ofTerminal(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((each) => each[0].length));
  const fence = "`".repeat(longest + 1);
  return `${l10n.t("From the terminal:")}\n\n${fence}\n${text.replace(/\s+$/, "")}\n${fence}\n`;
}

function uriOf(path: string): string {
  return `file://${path.split("/").map(encodeURIComponent).join("/")}`;
}

function nameOf(path: string): string {
  return path.replace(/\/$/, "").split("/").at(-1) ?? path;
}

/** What fills the model's window, by what brought it. Pure. */
import * as l10n from "@vscode/l10n";
import { contextBreakdown } from "../../src/protocol/session";

export interface Part {
  readonly name: string;
  readonly tokens: number;
  /** Undefined for what is no tool. */
  readonly calls: number | undefined;
  /** Of a tool: how many of them the model is told at every call, whether it is called or not. */
  readonly described: number;
}

export interface Breakdown {
  readonly used: number;
  readonly window: number;
  /** The model's server has counted the whole. */
  readonly counted: boolean;
  /** Those that take most first. */
  readonly parts: readonly Part[];
}

/** Of nothing, where the answer to `_sould/session/context` cannot be read. */
export function readBreakdown(raw: unknown): Breakdown {
  const answer = contextBreakdown(raw);
  if (answer === undefined) {
    return { used: 0, window: 0, counted: false, parts: [] };
  }
  const { used, window, counted } = answer;
  const plain = (name: string, tokens: number): Part => ({ name, tokens, calls: undefined, described: 0 });
  const parts = [
    plain(l10n.t("Instructions"), answer.instructions),
    plain(l10n.t("Your messages, notes and summaries"), answer.asked),
    plain(l10n.t("The agent's answers and thoughts"), answer.answered),
    ...answer.tools.map((tool): Part => ({
      name: tool.server ? l10n.t("{0} (MCP server)", tool.name) : tool.name,
      tokens: tool.used + tool.described,
      calls: tool.calls,
      described: tool.described,
    })),
  ]
    .filter((part) => part.tokens > 0 || (part.calls ?? 0) > 0)
    .toSorted((one, other) => other.tokens - one.tokens);
  return { used, window, counted, parts };
}

/** The largest, and the rest in one. */
export function foremost(parts: readonly Part[], most: number): readonly Part[] {
  const rest = parts.slice(most);
  if (rest.length < 2) {
    return parts;
  }
  const sum = (of: (part: Part) => number): number => rest.reduce((total, part) => total + of(part), 0);
  return [
    ...parts.slice(0, most),
    {
      name: l10n.t("{0} more", rest.length),
      tokens: sum((part) => part.tokens),
      calls: sum((part) => part.calls ?? 0),
      described: sum((part) => part.described),
    },
  ];
}

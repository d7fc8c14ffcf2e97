/** What fills the model's window, by what brought it. Pure. */
import * as l10n from "@vscode/l10n";
import { list, number, object, text } from "./read";

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

/** As `_sould/session/context` has it. */
export function readBreakdown(raw: unknown): Breakdown {
  const answer = object(raw);
  const plain = (name: string, field: string): Part => ({
    name,
    tokens: number(answer[field]) ?? 0,
    calls: undefined,
    described: 0,
  });
  const tools = list(answer["tools"])
    .map(object)
    .map((tool): Part => {
      const described = number(tool["described"]) ?? 0;
      const name = text(tool["name"]);
      return {
        name: tool["server"] === true ? l10n.t("{0} (MCP server)", name) : name,
        tokens: (number(tool["used"]) ?? 0) + described,
        calls: number(tool["calls"]) ?? 0,
        described,
      };
    });
  const parts = [
    plain(l10n.t("Instructions"), "instructions"),
    plain(l10n.t("Your messages, notes and summaries"), "asked"),
    plain(l10n.t("The agent's answers and thoughts"), "answered"),
    ...tools,
  ];
  return {
    used: number(answer["used"]) ?? 0,
    window: number(answer["window"]) ?? 0,
    counted: answer["counted"] === true,
    parts: parts
      .filter((part) => part.tokens > 0 || (part.calls ?? 0) > 0)
      .toSorted((one, other) => other.tokens - one.tokens),
  };
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

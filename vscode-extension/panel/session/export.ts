/** A conversation as Markdown, to be read elsewhere. Pure. */
import * as l10n from "@vscode/l10n";
import { wordsOf } from "./queue";
import type { Call, Item } from "./transcript";
import type { Block } from "./updates";

export function markdownOf(title: string, items: readonly Item[]): string {
  const parts = items.map(partOf).filter((part) => part !== "");
  return `${[`# ${title}`, ...parts].join("\n\n")}\n`;
}

function partOf(item: Item): string {
  switch (item.kind) {
    case "user":
      return `## ${l10n.t("You")}\n\n${textOf(item.blocks)}`;
    case "agent":
      return textOf(item.blocks);
    case "thought":
      return textOf(item.blocks)
        .split("\n")
        .map((line) => `> ${line}`.trimEnd())
        .join("\n");
    case "call":
      return callOf(item.call);
    case "aside":
      return [l10n.t("*Asked on the side:* {0}", item.question), textOf(item.answer)]
        .map((part) =>
          part
            .split("\n")
            .map((line) => `> ${line}`.trimEnd())
            .join("\n"),
        )
        .join("\n>\n");
    case "notice":
      return `*${[item.title, item.description].filter((words) => words !== "").join(": ")}*`;
    case "compaction":
      return item.words === "" ? "" : l10n.t("*Conversation compacted: {0}*", item.words);
  }
}

function textOf(blocks: readonly Block[]): string {
  const beside = blocks.flatMap((block) => {
    if (block.type === "link") {
      return [`[${block.name}](${block.uri})`];
    }
    return block.type === "text" ? [] : [`(${block.type})`];
  });
  return [wordsOf(blocks), ...beside].join("\n\n");
}

function callOf(call: Call): string {
  const diffs = call.content.flatMap((content) =>
    content.type === "diff" ? [`  - ${l10n.t("changed {0}", content.path)}`] : [],
  );
  return [`- ${stateOf(call, `**${call.title.replace(/[*_`]/g, "\\$&")}**`)}`, ...diffs].join("\n");
}

function stateOf({ status }: Call, title: string): string {
  switch (status) {
    case "pending":
      return l10n.t("{0} (waiting)", title);
    case "in_progress":
      return l10n.t("{0} (running)", title);
    case "failed":
      return l10n.t("{0} (failed)", title);
    case "completed":
      return title;
  }
}

/** A conversation as Markdown, to be read elsewhere. Pure. */
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
      return `## You\n\n${textOf(item.blocks)}`;
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
      return [`*Asked on the side:* ${item.question}`, textOf(item.answer)]
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
      return item.words === "" ? "" : `*Conversation compacted: ${item.words}*`;
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
  const state = { pending: " (waiting)", in_progress: " (running)", completed: "", failed: " (failed)" }[call.status];
  const diffs = call.content.flatMap((content) => (content.type === "diff" ? [`  - changed ${content.path}`] : []));
  return [`- **${call.title.replace(/[*_`]/g, "\\$&")}**${state}`, ...diffs].join("\n");
}

/** What was said: the agent's Markdown, the user's words, thoughts, notices and compactions. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { memo } from "./memo";
import { useRef } from "preact/hooks";
import type { Item } from "../session/transcript";
import type { Block } from "../session/updates";
import { wordsOf } from "../session/queue";
import { usePanel } from "./context";
import { Fold } from "./fold";
import { Icon, IconButton } from "./icons";
import { markdown } from "./later";
import type { Part } from "./markdown";

/** Characters of the user's own words that are shown unfolded. */
const LONG = 3000;

function Html({ html }: { readonly html: string }): JSX.Element {
  return <div class="md-block" dangerouslySetInnerHTML={{ __html: html }} />;
}
const SettledHtml = memo(Html);

/** Markdown that may still grow. */
export function Markdown({ source }: { readonly source: string }): JSX.Element {
  const before = useRef<readonly Part[]>([]);
  const read = markdown.value;
  if (read === undefined) {
    return (
      <div class="md plain" dir="auto">
        {source}
      </div>
    );
  }
  before.current = read.partsOf(source, before.current);
  return (
    <div class="md" dir="auto">
      {before.current.map((part, at) => (
        <SettledHtml key={at} html={part.html} />
      ))}
    </div>
  );
}

/** Pictures, files and the like beside text. */
export function Attachment({ block }: { readonly block: Block }): JSX.Element | null {
  const panel = usePanel();
  if (block.type === "image") {
    return <img class="picture" alt={l10n.t("Picture")} src={`data:${block.mimeType};base64,${block.data}`} />;
  }
  if (block.type === "audio") {
    return <span class="chip">{l10n.t("Audio ({0})", block.mimeType)}</span>;
  }
  if (block.type === "link" || block.type === "resource") {
    const name = block.type === "link" ? block.name : nameOf(block.uri);
    const path = pathOf(block.uri);
    return path === undefined ? (
      <span class="chip" title={block.uri}>
        {name}
      </span>
    ) : (
      <button
        type="button"
        class="chip"
        title={path}
        onClick={() => {
          panel.link.openFile({ path });
        }}
      >
        <Icon name="file" />
        {name}
      </button>
    );
  }
  return null;
}

function pathOf(uri: string): string | undefined {
  return uri.startsWith("file://") ? decoded(uri.slice("file://".length).replace(/#.*$/, "")) : undefined;
}

function nameOf(uri: string): string {
  return decoded(uri.replace(/\/$/, "").split("/").at(-1) ?? uri);
}

/** As it is where it is no coded text: other clients write what they like. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function AgentMessage({ item }: { readonly item: Item & { kind: "agent" } }): JSX.Element {
  return (
    <article class="agent" aria-label={l10n.t("Agent")}>
      {item.blocks.map((block, at) =>
        block.type === "text" ? <Markdown key={at} source={block.text} /> : <Attachment key={at} block={block} />,
      )}
    </article>
  );
}

/** `onEdit`: it can be changed and sent again. */
export function UserMessage(props: {
  readonly blocks: readonly Block[];
  readonly turn: number;
  readonly sending?: boolean;
  readonly onEdit?: () => void;
}): JSX.Element {
  const { blocks, turn, sending = false, onEdit } = props;
  const words = wordsOf(blocks);
  const shown = (
    <p class="words" dir="auto">
      {words}
    </p>
  );
  return (
    <article class={sending ? "user sending" : "user"} aria-busy={sending}>
      <h2 class="hidden">{sending ? l10n.t("You, being sent") : l10n.t("Turn {0}: you", turn)}</h2>
      {words.length > LONG ? <Fold title={`${words.slice(0, 200)}…`}>{shown}</Fold> : shown}
      <div class="attachments">
        {blocks
          .filter((block) => block.type !== "text")
          .map((block, at) => (
            <Attachment key={at} block={block} />
          ))}
      </div>
      {onEdit && (
        <div class="corner">
          <IconButton icon="edit" label={l10n.t("Edit and send again from here")} onClick={onEdit} />
        </div>
      )}
    </article>
  );
}

export function Thought({ item }: { readonly item: Item & { kind: "thought" } }): JSX.Element {
  const words = wordsOf(item.blocks);
  const first =
    words
      .trim()
      .split("\n")[0]
      ?.replace(/[*_`#]/g, "") ?? "";
  return (
    <Fold icon="think" quiet title={l10n.t("Thought: {0}", first.slice(0, 120))}>
      <Markdown source={words} />
    </Fold>
  );
}

/** Visibly beside the conversation: folded when it is history, open while it is new. */
export function Aside({ item }: { readonly item: Item & { kind: "aside" } }): JSX.Element {
  const waits = item.answer.length === 0;
  return (
    <aside class="aside" aria-label={l10n.t("Asked on the side: {0}", item.question)} aria-busy={waits && item.fresh}>
      <Fold
        icon="comment"
        title={
          <>
            <span class="quiet-words">{l10n.t("On the side:")} </span>
            {item.question}
          </>
        }
        open={item.fresh}
      >
        {waits && <p class="working">{item.fresh ? l10n.t("Asking…") : l10n.t("It was not answered.")}</p>}
        {item.answer.map((block, at) =>
          block.type === "text" ? <Markdown key={at} source={block.text} /> : <Attachment key={at} block={block} />,
        )}
        <p class="quiet-words">{l10n.t("Not part of the conversation: the agent does not remember it.")}</p>
      </Fold>
    </aside>
  );
}

const SEVERITY = { info: l10n.t("info"), warning: l10n.t("warning"), error: l10n.t("error") } as const;

export function Notice({ item }: { readonly item: Item & { kind: "notice" } }): JSX.Element {
  const panel = usePanel();
  return (
    <div class={`notice ${item.severity}`} role="note">
      <span class="hidden">{SEVERITY[item.severity]}: </span>
      {item.review ? (
        <button
          type="button"
          class="link"
          onClick={() => {
            panel.review();
          }}
        >
          {item.title}
        </button>
      ) : (
        <span class="notice-title">{item.title}</span>
      )}
      {item.description !== "" && !item.review && <span class="notice-more"> {item.description}</span>}
    </div>
  );
}

export function Compaction({ item }: { readonly item: Item & { kind: "compaction" } }): JSX.Element {
  const title =
    {
      in_progress: l10n.t("Compacting the conversation…"),
      completed: l10n.t("Conversation compacted"),
      cancelled: l10n.t("Compaction cancelled"),
    }[item.status] ?? l10n.t("The conversation could not be compacted");
  const all = [title, item.words].filter((words) => words !== "").join(": ");
  return item.summary === "" ? (
    <div class="notice info" role="note">
      {all}
    </div>
  ) : (
    <Fold icon="fold" quiet title={all}>
      <Markdown source={item.summary} />
    </Fold>
  );
}

/** The card of a call: what it does, how it stands, its output, its diffs, and what its subagents did. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { memo } from "./memo";
import { useMemo, useState } from "preact/hooks";
import { changeOf } from "../session/changes";
import { isOpen, type Node } from "../session/rows";
import { screen } from "../session/terminal";
import type { Call } from "../session/transcript";
import type { Content, Exit, Kind, Status } from "../session/updates";
import { nameOf, visible } from "../session/visible";
import { usePanel } from "./context";
import { Fold } from "./fold";
import { Icon, IconButton, type IconName } from "./icons";
import { Attachment, Markdown } from "./message";

const ICONS: Readonly<Record<Kind, IconName>> = {
  read: "read",
  edit: "edit",
  delete: "trash",
  move: "right",
  search: "find",
  execute: "terminal",
  think: "think",
  fetch: "globe",
  switch_mode: "list",
  other: "more",
};
const STATUS: Readonly<Record<Status, string>> = {
  pending: l10n.t("waiting"),
  in_progress: l10n.t("running"),
  completed: l10n.t("done"),
  failed: l10n.t("failed"),
};
/** Lines of output and of a diff that are shown before the user asks for all. */
const FEW_LINES = 12;
const MANY_LINES = 2000;

function ToolCard({ call, nodes }: { readonly call: Call; readonly nodes: readonly Node[] }): JSX.Element {
  const diffs = call.content.filter((each) => each.type === "diff");
  const title = (
    <>
      {call.title || call.name || l10n.t("A call")}
      <span class="hidden">, {STATUS[call.status]}</span>
    </>
  );
  const open =
    diffs.length > 0 ||
    (call.terminal && call.status === "in_progress") ||
    (call.status === "failed" && nodes.length === 0) ||
    call.files.length > 0;
  const empty =
    call.content.every((each) => each.type === "terminal") &&
    call.printed === "" &&
    nodes.length === 0 &&
    call.input === undefined;
  return (
    <section
      class={`tool ${call.status}`}
      aria-label={`${call.title}: ${STATUS[call.status]}`}
      aria-busy={call.status === "in_progress"}
    >
      <Fold icon={ICONS[call.kind]} title={title} open={open && !empty} beside={<Beside call={call} />}>
        {call.terminal && <Terminal call={call} />}
        {call.content.map((content, at) => (
          <Piece key={at} content={content} />
        ))}
        {!call.terminal && call.content.length === 0 && call.input !== undefined && <Input input={call.input} />}
        {nodes.length > 0 && (
          <div class="nested">
            {nodes.map((node) =>
              node.item.kind === "call" ? (
                <Tool key={node.item.key} call={node.item.call} nodes={node.children} />
              ) : null,
            )}
          </div>
        )}
      </Fold>
    </section>
  );
}

/** Drawn anew only when its call, or one below it, is another. */
export const Tool = memo(
  ToolCard,
  (before, after) => before.call === after.call && sameNodes(before.nodes, after.nodes),
);

function sameNodes(before: readonly Node[], after: readonly Node[]): boolean {
  return (
    before.length === after.length &&
    before.every((node, at) => {
      const other = after[at];
      return other !== undefined && node.item === other.item && sameNodes(node.children, other.children);
    })
  );
}

function Beside({ call }: { readonly call: Call }): JSX.Element {
  const panel = usePanel();
  const [place] = call.locations;
  return (
    <span class="tool-beside">
      {place !== undefined && (
        <IconButton
          icon="file"
          label={l10n.t("Open {0}", nameOf(place.path))}
          onClick={() => {
            panel.link.openFile({ path: place.path, ...(place.line !== undefined && { line: place.line }) });
          }}
        />
      )}
      <span class={`mark ${call.status}`} title={STATUS[call.status]} aria-hidden="true">
        {call.status === "completed" && <Icon name="check" />}
        {call.status === "failed" && <Icon name="close" />}
        {call.status === "pending" && <Icon name="history" />}
      </span>
    </span>
  );
}

function Piece({ content }: { readonly content: Content }): JSX.Element | null {
  if (content.type === "diff") {
    return <Diff diff={content} />;
  }
  if (content.type === "block") {
    return content.block.type === "text" ? (
      <div class="result">
        <Markdown source={content.block.text} />
      </div>
    ) : (
      <Attachment block={content.block} />
    );
  }
  return null;
}

function Input({ input }: { readonly input: unknown }): JSX.Element {
  return (
    <pre class="input" tabIndex={0} dir="ltr">
      {JSON.stringify(input, null, 2)}
    </pre>
  );
}

function Terminal({ call }: { readonly call: Call }): JSX.Element {
  const [all, showAll] = useState(false);
  const ended = endOf(call.exit);
  const silent = call.printed === "" ? (isOpen(call) ? l10n.t("No output yet.") : l10n.t("No output.")) : "";
  const { spans, above } = useMemo(() => screen(call.printed, all ? MANY_LINES : FEW_LINES), [call.printed, all]);
  return (
    <div class="terminal">
      {above > 0 && (
        <button
          type="button"
          class="link"
          onClick={() => {
            showAll(true);
          }}
        >
          {all ? leftOut(above) : linesAbove(above)}
        </button>
      )}
      {silent !== "" && <div class="silent">{silent}</div>}
      <pre tabIndex={0} dir="ltr" aria-label={l10n.t("Output of {0}", call.title)} hidden={silent !== ""}>
        {spans.map((span, at) => (
          <span key={at} class={span.classes}>
            {span.text}
          </span>
        ))}
      </pre>
      {ended !== "" && <div class="exit">{ended}</div>}
    </div>
  );
}

function leftOut(lines: number): string {
  return lines === 1 ? l10n.t("1 more line is left out") : l10n.t("{0} more lines are left out", lines);
}

function linesAbove(lines: number): string {
  return lines === 1 ? l10n.t("Show 1 line above") : l10n.t("Show {0} lines above", lines);
}

function moreLines(lines: number): string {
  return lines === 1 ? l10n.t("Show 1 more line") : l10n.t("Show {0} more lines", lines);
}

/** How a command ended, where that is not as it should be; what never ran has no end. */
function endOf(exit: Exit | undefined): string {
  if (exit === undefined || (exit.signal === "" && (exit.code ?? 0) === 0)) {
    return "";
  }
  return exit.signal === "" ? l10n.t("Exit code {0}", exit.code ?? 0) : l10n.t("Ended by {0}", exit.signal);
}

/** Signs and words beside colours: a diff must be readable without them. `whole`: all of it is shown at once. */
export function Diff({
  diff,
  whole = false,
}: {
  readonly diff: Content & { type: "diff" };
  readonly whole?: boolean;
}): JSX.Element {
  const { path, oldText, newText, isNew, edits } = diff;
  const panel = usePanel();
  const [all, showAll] = useState(whole);
  const change = useMemo(() => changeOf(oldText, newText, edits), [oldText, newText, edits]);
  const lines = change.hunks.flatMap((hunk, at) => hunk.map((line, n) => ({ ...line, gap: at > 0 && n === 0 })));
  const shown = all ? lines : lines.slice(0, FEW_LINES * 2);
  const name = nameOf(path);
  return (
    <div class="diff">
      <div class="diff-bar">
        <button
          type="button"
          class="link"
          title={visible(path)}
          onClick={() => {
            panel.link.openFile({ path, line: lines.find((line) => line.sign !== " ")?.number ?? 1 });
          }}
        >
          {name}
        </button>
        <span class="diff-count">
          {isNew ? `${l10n.t("new file")} ` : ""}
          <span class="plus">+{change.added}</span> <span class="minus">−{change.removed}</span>
        </span>
      </div>
      <pre tabIndex={0} dir="ltr" aria-label={l10n.t("Change of {0}", name)}>
        {shown.map((line, at) => (
          <div
            key={at}
            class={`line ${line.sign === "+" ? "plus" : line.sign === "-" ? "minus" : ""}${line.gap ? " gap" : ""}`}
          >
            <span class="number" aria-hidden="true">
              {line.number}
            </span>
            <span class="sign">{line.sign === "-" ? "−" : line.sign}</span>
            <span>{visible(line.text.replace(/\r$/, ""))}</span>
          </div>
        ))}
      </pre>
      {shown.length < lines.length && (
        <button
          type="button"
          class="link"
          onClick={() => {
            showAll(true);
          }}
        >
          {moreLines(lines.length - shown.length)}
        </button>
      )}
    </div>
  );
}

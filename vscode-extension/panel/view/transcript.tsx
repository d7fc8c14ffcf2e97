/** The conversation: rows of which those in sight are drawn. Keeps the end in sight unless the user reads further up. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { draftOf } from "../app/drafts";
import type { Session } from "../app/session";
import { rowsWith } from "../session/find";
import { wordsOf } from "../session/queue";
import { rowsOf, summary, type Node, type Row } from "../session/rows";
import type { Item } from "../session/transcript";
import type { Block } from "../session/updates";
import { usePanel } from "./context";
import { Fold } from "./fold";
import { Icon } from "./icons";
import { memo } from "./memo";
import { AgentMessage, Aside, Compaction, Notice, Thought, UserMessage } from "./message";
import { Tool } from "./tool";
import { Trouble } from "./trouble";
import { AT_END, useRows, type Rows } from "./virtual";

/** Rows from the beginning at which the page before is asked for. */
const NEAR_BEGINNING = 5;

export function Transcript({ session }: { readonly session: Session }): JSX.Element {
  const panel = usePanel();
  const transcript = session.transcript.value;
  const sending = session.sending.value;
  const condensed = panel.condensed.value;
  const rows = useMemo(() => rowsOf(transcript.items, condensed), [transcript.items, condensed]);
  const keys = useMemo(
    () => [...rows.map((row) => row.key), ...sending.map((_, at) => `sending:${at}`), "end"],
    [rows, sending],
  );
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useRows(keys, () => scroller.current);
  useOlder(session, virtual);
  useKeptScroll(session, virtual);
  const follow = useFollow(scroller, virtual);
  const found = useFound(rows, virtual, follow);
  const shown = virtual.getVirtualItems();
  const away = !follow.current && !virtual.isAtEnd(AT_END);
  return (
    <div class="transcript-frame">
      <div
        class="transcript"
        ref={scroller}
        tabIndex={0}
        role="log"
        aria-label={l10n.t("Conversation")}
        aria-live="off"
        aria-busy={session.running.value}
      >
        <div class="rows" style={{ height: `${virtual.getTotalSize()}px` }}>
          {shown.map(({ key, index, start }) => (
            <div
              class={index === found ? "row found" : "row"}
              key={key}
              data-index={index}
              ref={virtual.measureElement}
              style={{ transform: `translateY(${start}px)` }}
            >
              <RowOf row={rows[index]} sent={sending[index - rows.length]} session={session} />
            </div>
          ))}
        </div>
      </div>
      {away && (
        <button
          type="button"
          class="to-end"
          onClick={() => {
            follow.current = true;
            virtual.scrollToEnd();
            scroller.current?.focus();
          }}
        >
          <Icon name="down" />
          {l10n.t("Go to the end")}
        </button>
      )}
    </div>
  );
}

interface RowProps {
  readonly row: Row | undefined;
  readonly sent: readonly Block[] | undefined;
  readonly session: Session;
}

function RowOf({ row, sent, session }: RowProps): JSX.Element {
  if (sent !== undefined) {
    return <UserMessage blocks={sent} turn={0} sending />;
  }
  if (row === undefined) {
    return <End session={session} />;
  }
  if (row.type === "steps") {
    return <Steps nodes={row.nodes} />;
  }
  return <ItemRow node={row.node} turn={row.turn} />;
}

const ItemRow = memo(
  ItemOf,
  (before, after) =>
    before.turn === after.turn &&
    before.node.item === after.node.item &&
    before.node.children.length === after.node.children.length &&
    before.node.children.every(
      (child, at) => child.item === after.node.children[at]?.item && child.children.length === 0,
    ),
);

function ItemOf({ node, turn }: { readonly node: Node; readonly turn: number }): JSX.Element {
  const { item } = node;
  switch (item.kind) {
    case "user":
      return <Prompt item={item} turn={turn} />;
    case "agent":
      return <AgentMessage item={item} />;
    case "thought":
      return <Thought item={item} />;
    case "call":
      return <Tool call={item.call} nodes={node.children} />;
    case "aside":
      return <Aside item={item} />;
    case "notice":
      return <Notice item={item} />;
    case "compaction":
      return <Compaction item={item} />;
  }
}

/** What the user said, which they may change and send again from there. */
function Prompt({ item, turn }: { readonly item: Item & { kind: "user" }; readonly turn: number }): JSX.Element {
  const panel = usePanel();
  const words = wordsOf(item.blocks);
  const edit = async (): Promise<void> => {
    const session = panel.session.value;
    if (session !== undefined) {
      const items = session.transcript.value.items;
      const attached = hasMore(item.blocks);
      const later = items
        .slice(items.indexOf(item) + 1)
        .filter(
          (each) => each.kind === "user" && wordsOf(each.blocks) === words && hasMore(each.blocks) === attached,
        ).length;
      const checkpoint = await session.before({ words, attached }, later);
      if (checkpoint === undefined) {
        throw new Error(l10n.t("Nothing leads back to this message. Send it again at the end."));
      }
      panel.resending.value = { session: session.id, checkpoint };
      panel.offer(draftOf(item.blocks));
    }
  };
  return (
    <UserMessage
      blocks={item.blocks}
      turn={turn}
      onEdit={() => {
        void panel.attempt(edit);
      }}
    />
  );
}

/** Whether it has more than words. */
function hasMore(blocks: readonly Block[]): boolean {
  return blocks.some((block) => block.type !== "text");
}

function Steps({ nodes }: { readonly nodes: readonly Node[] }): JSX.Element {
  return (
    <Fold icon="fold" quiet title={summary(nodes)}>
      {nodes.map((node) => (
        <ItemRow key={node.item.key} node={node} turn={0} />
      ))}
    </Fold>
  );
}

/** What stands below everything: that it works, or what went wrong. */
function End({ session }: { readonly session: Session }): JSX.Element {
  const trouble = session.trouble.value;
  if (trouble !== undefined) {
    return <Trouble session={session} trouble={trouble} />;
  }
  const words = session.stopping.value ? l10n.t("Stopping…") : l10n.t("Working…");
  return <div class="end">{session.running.value && <span class="working">{words}</span>}</div>;
}

/** Whether the end is to stay in sight: until the user moves away from it, and again when they come back. */
function useFollow(scroller: { current: HTMLDivElement | null }, virtual: Rows): { current: boolean } {
  const follow = useRef(true);
  useEffect(() => {
    const frame = scroller.current;
    const moved = (): void => {
      follow.current = virtual.isAtEnd(AT_END);
    };
    // Only what a person does moves away from the end: a page that grows or a question that takes its place does not.
    const byHand = (): void => {
      requestAnimationFrame(moved);
    };
    const keys = (event: KeyboardEvent): void => {
      if (/^(Page|Arrow|Home|End)/.test(event.key)) {
        byHand();
      }
    };
    const again = (): void => {
      if (!follow.current) {
        moved();
      }
    };
    const resized = new ResizeObserver(() => {
      if (follow.current) {
        virtual.scrollToEnd();
      }
    });
    if (frame !== null) {
      frame.addEventListener("wheel", byHand, { passive: true });
      frame.addEventListener("touchmove", byHand, { passive: true });
      frame.addEventListener("pointerup", byHand);
      frame.addEventListener("keydown", keys);
      frame.addEventListener("scroll", again, { passive: true });
      resized.observe(frame);
    }
    return () => {
      resized.disconnect();
    };
  }, [virtual]);
  useLayoutEffect(() => {
    if (follow.current && !virtual.isAtEnd(1)) {
      virtual.scrollToEnd();
    }
  });
  return follow;
}

/** The row that has what is searched for, which is brought into sight. */
function useFound(rows: readonly Row[], virtual: Rows, follow: { current: boolean }): number | undefined {
  const panel = usePanel();
  const finding = panel.finding.value;
  const words = finding?.words ?? "";
  const found = useMemo(() => rowsWith(rows, words), [rows, words]);
  const at = finding && found[finding.at];
  useEffect(() => {
    panel.found.value = found.length;
  }, [found]);
  useEffect(() => {
    if (at !== undefined) {
      follow.current = false;
      virtual.scrollToIndex(at, { align: "center" });
    }
  }, [at]);
  return at;
}

/** Asks for what is above when the user comes near it. */
function useOlder(session: Session, virtual: Rows): void {
  const panel = usePanel();
  const asking = useRef(false);
  const first = virtual.range?.startIndex ?? Infinity;
  const more = session.transcript.value.before !== null;
  useEffect(() => {
    if (more && first < NEAR_BEGINNING && !asking.current) {
      asking.current = true;
      void panel
        .attempt(() => session.older())
        .finally(() => {
          asking.current = false;
        });
    }
  }, [session, first, more]);
}

/** A session opens at its end, or where the user had scrolled to before a reload. */
function useKeptScroll(session: Session, virtual: Rows): void {
  const panel = usePanel();
  const loaded = !session.loading.value;
  const placed = useRef<Session | undefined>(undefined);
  useLayoutEffect(() => {
    if (loaded && placed.current !== session) {
      placed.current = session;
      const { scroll } = panel.link.state;
      virtual.scrollToEnd();
      if (scroll !== undefined) {
        virtual.scrollToOffset(Math.max(0, virtual.getTotalSize() - (virtual.scrollRect?.height ?? 0) - scroll));
      }
    }
  }, [session, loaded]);
  const distance = virtual.isScrolling || !loaded ? undefined : virtual.getDistanceFromEnd();
  useEffect(() => {
    if (distance !== undefined && placed.current === session) {
      const { scroll: _, ...kept } = panel.link.state;
      panel.link.state = distance > AT_END ? { ...kept, scroll: Math.round(distance) } : kept;
    }
  }, [distance]);
}

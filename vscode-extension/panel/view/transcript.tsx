/** The conversation: rows of which those in sight are drawn. Keeps the end in sight unless the user reads further up. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Session } from "../app/session";
import { rowsOf, summary, type Node, type Row } from "../session/rows";
import { usePanel } from "./context";
import { Fold } from "./fold";
import { Icon } from "./icons";
import { memo } from "./memo";
import { AgentMessage, Compaction, Notice, Thought, UserMessage } from "./message";
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
  const keys = useMemo(() => [...rows.map((row) => row.key), ...sending.map((_, at) => `sending:${at}`), "end"], [rows, sending]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useRows(keys, () => scroller.current);
  useOlder(session, virtual);
  useKeptScroll(session, virtual);
  const shown = virtual.getVirtualItems();
  const away = !virtual.isAtEnd(AT_END) && virtual.getTotalSize() > (virtual.scrollRect?.height ?? 0);
  return (
    <div class="transcript-frame">
      <div class="transcript" ref={scroller} tabIndex={0} role="log" aria-label="Conversation" aria-live="off" aria-busy={session.running.value}>
        <div class="rows" style={{ height: `${virtual.getTotalSize()}px` }}>
          {shown.map(({ key, index, start }) => (
            <div class="row" key={key} data-index={index} ref={virtual.measureElement} style={{ transform: `translateY(${start}px)` }}>
              <RowOf row={rows[index]} sent={sending[index - rows.length]} session={session} />
            </div>
          ))}
        </div>
      </div>
      {away && <button type="button" class="to-end" onClick={() => { virtual.scrollToEnd(); }}><Icon name="down" />Go to the end</button>}
    </div>
  );
}

function RowOf({ row, sent, session }: { readonly row: Row | undefined; readonly sent: Session["sending"]["value"][number] | undefined; readonly session: Session }): JSX.Element {
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

const ItemRow = memo(ItemOf, (before, after) => before.turn === after.turn && before.node.item === after.node.item && before.node.children.length === after.node.children.length
  && before.node.children.every((child, at) => child.item === after.node.children[at]?.item && child.children.length === 0));

function ItemOf({ node, turn }: { readonly node: Node; readonly turn: number }): JSX.Element {
  const { item } = node;
  switch (item.kind) {
    case "user":
      return <UserMessage blocks={item.blocks} turn={turn} />;
    case "agent":
      return <AgentMessage item={item} />;
    case "thought":
      return <Thought item={item} />;
    case "call":
      return <Tool call={item.call} nodes={node.children} />;
    case "notice":
      return <Notice item={item} />;
    case "compaction":
      return <Compaction item={item} />;
  }
}

function Steps({ nodes }: { readonly nodes: readonly Node[] }): JSX.Element {
  return <Fold icon="fold" quiet title={summary(nodes)}>{nodes.map((node) => <ItemRow key={node.item.key} node={node} turn={0} />)}</Fold>;
}

/** What stands below everything: that it works, or what went wrong. */
function End({ session }: { readonly session: Session }): JSX.Element {
  const trouble = session.trouble.value;
  if (trouble !== undefined) {
    return <Trouble session={session} trouble={trouble} />;
  }
  const words = session.stopping.value ? "Stopping…" : "Working…";
  return <div class="end">{session.running.value && <span class="working">{words}</span>}</div>;
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
      void panel.attempt(() => session.older()).finally(() => { asking.current = false; });
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

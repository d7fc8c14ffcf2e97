/** What is pending as a tree: session, turn, file, hunk. Pure. */
import type { ShownFile, ShownHunk } from "../protocol/review";

interface HunkNode {
  readonly kind: "hunk";
  readonly hunk: ShownHunk;
}

interface FileNode {
  readonly kind: "file";
  readonly file: ShownFile;
  readonly hunks: readonly HunkNode[];
  /** The session and turn it stands under. */
  readonly sessionId: string;
  readonly turnId: string;
}

interface TurnNode {
  readonly kind: "turn";
  readonly sessionId: string;
  readonly turnId: string;
  /** Counted from 1, in the order of the session's turns that have something pending. */
  readonly number: number;
  readonly files: readonly FileNode[];
}

interface SessionNode {
  readonly kind: "session";
  readonly root: string;
  readonly sessionId: string;
  readonly turns: readonly TurnNode[];
}

export type Node = SessionNode | TurnNode | FileNode | HunkNode;

/**
 * The sessions with hunks in these files of a project, the one whose pending changes are the oldest first. A hunk stands under the
 * turn that wrote in it last. Ids of turns sort as the turns began.
 */
export function sessionsOf(root: string, files: Iterable<ShownFile>): SessionNode[] {
  const bySession = new Map<string, Map<string, FileNode[]>>();
  for (const file of [...files].sort((a, b) => compare(a.path, b.path))) {
    for (const [key, hunks] of groupByTurn(file)) {
      const [sessionId, turnId] = key;
      const turns = bySession.get(sessionId) ?? new Map<string, FileNode[]>();
      bySession.set(sessionId, turns);
      const nodes = turns.get(turnId) ?? [];
      turns.set(turnId, nodes);
      nodes.push({ kind: "file", file, hunks, sessionId, turnId });
    }
  }
  const sessions = [...bySession].map(([sessionId, turns]) => session(root, sessionId, turns));
  return sessions.sort((a, b) => compare(began(a), began(b)) || compare(a.sessionId, b.sessionId));
}

function session(root: string, sessionId: string, turns: Map<string, FileNode[]>): SessionNode {
  const ordered = [...turns].sort(([a], [b]) => compare(a, b));
  return {
    kind: "session",
    root,
    sessionId,
    turns: ordered.map(([turnId, files], at) => ({ kind: "turn", sessionId, turnId, number: at + 1, files })),
  };
}

function began({ turns }: SessionNode): string {
  return turns[0]?.turnId ?? "";
}

function groupByTurn(file: ShownFile): [readonly [string, string], HunkNode[]][] {
  const groups = new Map<string, [readonly [string, string], HunkNode[]]>();
  for (const hunk of file.hunks) {
    const agent = hunk.agents.at(-1);
    const key = [agent?.sessionId ?? "", agent?.turnId ?? ""] as const;
    const group = groups.get(key.join("\n")) ?? [key, []];
    groups.set(key.join("\n"), group);
    group[1].push({ kind: "hunk", hunk });
  }
  return [...groups.values()];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The files below a node, each once. */
export function filesBelow(node: Node): ShownFile[] {
  switch (node.kind) {
    case "session":
      return [...new Set(node.turns.flatMap((turn) => filesBelow(turn)))];
    case "turn":
      return node.files.map((each) => each.file);
    case "file":
      return [node.file];
    case "hunk":
      return [];
  }
}

/** The hunks below a node. */
export function hunksBelow(node: Node): ShownHunk[] {
  switch (node.kind) {
    case "session":
      return node.turns.flatMap((turn) => hunksBelow(turn));
    case "turn":
      return node.files.flatMap((file) => hunksBelow(file));
    case "file":
      return node.hunks.map((each) => each.hunk);
    case "hunk":
      return [node.hunk];
  }
}

// Written by scripts/protocol.mjs from docs/schemas/session; change the daemon's shapes, and run it again.

/**
 * `_sould/session/archive`: out of the lists, or back into them.
 */
export interface ArchiveParams {
  sessionId: string;
  archived?: boolean;
}
/**
 * Where a session is now.
 */
export interface Archived {
  archived: boolean;
}
/**
 * `_sould/session/transcript`: the newest page, or the one that ends at `before`, which the page after it said.
 */
export interface TranscriptParams {
  sessionId: string;
  before?: number | null;
  limit?: number;
}
/**
 * A page of a conversation, oldest first.
 */
export interface Transcript {
  updates: ShownUpdate[];
  before: number | null;
  sequence: number;
}
/**
 * An update of the conversation, whole: as `session/update` has it, in its present state.
 */
export interface ShownUpdate {
  sequence: number;
  update: {};
}

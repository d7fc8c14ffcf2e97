// Written by scripts/protocol.mjs from docs/schemas/files; change the daemon's shapes, and run it again.

/**
 * `_sould/files/search`: files and directories below `cwd` by some letters of their names.
 */
export interface SearchParams {
  cwd: string;
  query?: string;
  limit?: number;
}
/**
 * The best first. `partial`: there may be more, the project was too large to be listed in time.
 */
export interface FoundFiles {
  files: FoundFile[];
  partial: boolean;
}
/**
 * `name`: relative to where was searched; that of a directory ends in a slash.
 */
export interface FoundFile {
  path: string;
  name: string;
}

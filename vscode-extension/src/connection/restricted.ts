/**
 * What VS Code's Restricted Mode is to sould: sessions in a folder of this window are held restricted as long as its user does not trust
 * the workspace. Pure.
 *
 * Trusting it here only ends that: whether the project's own configuration is used stays a question of its contents, which sould asks.
 */
import { isWithin } from "../startup";

/** Requests that begin to show a session. */
export const OPENING: ReadonlySet<string> = new Set(["session/new", "session/load", "session/resume", "session/fork"]);

/** The parameters of a request, with how the folder stands where it opens a session in one of `folders`. */
export function withRestriction(
  method: string,
  params: object,
  folders: readonly string[],
  isTrusted: boolean,
): object {
  if (!OPENING.has(method)) {
    return params;
  }
  const { cwd, _meta: meta } = params as { cwd?: unknown; _meta?: unknown };
  if (typeof cwd !== "string" || !folders.some((folder) => isWithin(cwd, folder) || isWithin(folder, cwd))) {
    return params;
  }
  const { sould, ...others } = asObject(meta);
  return { ...params, _meta: { ...others, sould: { ...asObject(sould), restricted: !isTrusted } } };
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

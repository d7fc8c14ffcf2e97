/** `vscode://sould.sould/open?session=…&prompt=…`: what such a link may ask for. Pure; anybody can write one. */

interface Asked {
  readonly session?: string;
  /** For the composer, where the user reads it before they send it. */
  readonly prompt?: string;
}

const LONGEST_PROMPT = 20_000;

/** Undefined for what is no link of ours. */
export function readLink(path: string, query: string): Asked | undefined {
  if (path !== "/open") {
    return undefined;
  }
  const given = new URLSearchParams(query);
  const session = given.get("session") ?? "";
  const prompt = (given.get("prompt") ?? "").slice(0, LONGEST_PROMPT);
  if (session !== "" && !/^[\w-]{1,100}$/.test(session)) {
    return undefined;
  }
  return { ...(session && { session }), ...(prompt && { prompt }) };
}

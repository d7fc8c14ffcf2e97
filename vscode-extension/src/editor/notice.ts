/**
 * What others wrote, where VS Code would make more of it than text: of `[words](command:...)` in a notification a link, also of those
 * that run commands, and of `$(name)` in a list an icon. Pure.
 */

/** The text with nothing in it that is a link. */
export function unlinked(text: string): string {
  return text.replaceAll("](", "] (");
}

/** The text with nothing in it that is drawn as an icon. */
export function iconless(text: string): string {
  return text.replaceAll("$(", "$\u200b(");
}

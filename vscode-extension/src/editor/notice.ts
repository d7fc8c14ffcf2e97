/**
 * What others wrote, for a notification: VS Code makes links of `[words](command:...)` in one, also of those that run commands. Pure.
 */

/** The text with nothing in it that is a link. */
export function unlinked(text: string): string {
  return text.replaceAll("](", "] (");
}

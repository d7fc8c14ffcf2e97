/** Keys of a field of words that is a form of its own, or in one. While an input method composes, all keys are its own. */
import type { TargetedKeyboardEvent } from "preact";

/** Enter sends the form, and Shift+Enter begins a line; Escape leaves it, and means nothing to what is around it. */
export function keyInWords(
  event: TargetedKeyboardEvent<HTMLTextAreaElement | HTMLInputElement>,
  leave?: () => void,
): void {
  if (event.isComposing) {
    return;
  }
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    event.currentTarget.form?.requestSubmit();
  } else if (event.key === "Escape" && leave !== undefined) {
    event.stopPropagation();
    leave();
  }
}

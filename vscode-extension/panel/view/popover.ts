/** What opens above a button and closes when the focus goes elsewhere, or by Escape, which gives the focus back to the button. */
import { useRef, useState } from "preact/hooks";

interface Popover {
  readonly open: boolean;
  readonly toggle: () => void;
  /** The focus goes back to the button. */
  readonly close: () => void;
  /** For the element around button and content. */
  readonly frame: {
    readonly ref: { current: HTMLSpanElement | null };
    readonly onFocusOut: (event: FocusEvent) => void;
    readonly onKeyDown: (event: KeyboardEvent) => void;
  };
}

export function usePopover(): Popover {
  const [open, show] = useState(false);
  const frame = useRef<HTMLSpanElement>(null);
  const close = (): void => {
    show(false);
    frame.current?.querySelector<HTMLElement>("button")?.focus();
  };
  const onFocusOut = ({ relatedTarget }: FocusEvent): void => {
    if (!(relatedTarget instanceof Node && frame.current?.contains(relatedTarget))) {
      show(false);
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (open && event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  };
  return {
    open,
    toggle: () => {
      show(!open);
    },
    close,
    frame: { ref: frame, onFocusOut, onKeyDown },
  };
}

/** A button that opens a menu: arrows move in it, Escape and whatever is done elsewhere close it. */
import type { JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { IconButton, type IconName } from "./icons";
import { usePopover } from "./popover";

interface Entry {
  readonly name: string;
  readonly does: () => void;
}

/** `above`: it opens upwards, from the beginning of the line. */
export function Menu({
  icon,
  label,
  entries,
  above = false,
}: {
  readonly icon: IconName;
  readonly label: string;
  readonly entries: readonly Entry[];
  readonly above?: boolean;
}): JSX.Element {
  const { open, toggle, close, frame } = usePopover();
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  // before the next paint: what is typed at once is for the menu
  useLayoutEffect(() => {
    if (open) {
      list.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    }
  }, [open]);
  const moved = (event: KeyboardEvent): void => {
    const items = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = items.findIndex((item) => item === document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      items[(next + items.length) % items.length]?.focus();
    }
  };
  return (
    <span class="menu-frame" {...frame}>
      <IconButton icon={icon} label={label} menu={open} {...(open && { controls: id })} onClick={toggle} />
      {open && (
        <ul class={above ? "menu above" : "menu"} id={id} role="menu" aria-label={label} ref={list} onKeyDown={moved}>
          {entries.map(({ name, does }) => (
            <li key={name} role="none">
              <button
                type="button"
                role="menuitem"
                tabIndex={-1}
                onClick={() => {
                  close();
                  does();
                }}
              >
                {name}
              </button>
            </li>
          ))}
        </ul>
      )}
    </span>
  );
}

/** Drawings for buttons, 16 by 16, in the colour of the text. Each button has a label beside it; these say nothing to screen readers. */
import type { JSX } from "preact";

const PATHS = {
  add: "M8 3v10M3 8h10",
  attach: "m12.5 7.5-4.8 4.8a2.8 2.8 0 0 1-4-4l5.2-5.2a1.9 1.9 0 0 1 2.7 2.7l-5.2 5.2a.9.9 0 0 1-1.3-1.3l4.6-4.6",
  back: "M10 3 5 8l5 5",
  branch:
    "M5 5.5v5M5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM5 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 6.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 6.5c0 2.5-3.5 2-5 4",
  check: "m3 8.5 3.2 3.2L13 5",
  close: "m4 4 8 8m0-8-8 8",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  cost: "M8 2v12M11 4.5H6.7a1.8 1.8 0 0 0 0 3.5h2.6a1.8 1.8 0 0 1 0 3.5H5",
  down: "m4 6 4 4 4-4",
  edit: "M3 13h2l7.5-7.5-2-2L3 11zM9 5l2 2",
  failed: "M8 4v5M8 11.5v.5",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  find: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14",
  fold: "M3 4h10M3 8h10M3 12h6",
  fork: "M5 3v10M5 8c4 0 6-1 6-4V3M3.5 3h3M9.5 3h3M3.5 13h3",
  globe: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM2 8h12M8 2c2 2 2.5 4 2.5 6S10 12 8 14c-2-2-2.5-4-2.5-6S6 4 8 2",
  history: "M3 8a5 5 0 1 0 1.5-3.5L3 6M3 3v3h3M8 5v3l2 1.5",
  image: "M2.5 3h11v10h-11zM3 11l3.5-3.5 3 3 1.5-1.5 2 2M10.5 6h.01",
  list: "M6 4h7M6 8h7M6 12h7M3 4h.01M3 8h.01M3 12h.01",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  queue: "M3 4h10M3 8h10M3 12h5M11 10v4M9 12h4",
  read: "M2 4c2-1 4-1 6 0 2-1 4-1 6 0v8c-2-1-4-1-6 0-2-1-4-1-6 0zM8 4v8",
  right: "m6 4 4 4-4 4",
  send: "M8 13V3M4 7l4-4 4 4",
  stop: "M4.5 4.5h7v7h-7z",
  comment: "M2.5 3h11v8h-6l-3 2.5V11h-2z",
  terminal: "m3 4 4 4-4 4M8 12h5",
  think: "M8 2a4 4 0 0 0-2.5 7.1V11h5V9.1A4 4 0 0 0 8 2zM6 13.5h4",
  trash: "M3 4.5h10M6 4V2.5h4V4M4.5 4.5l.5 9h6l.5-9",
  up: "m4 10 4-4 4 4",
  archive: "M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 8.5h3",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill={name === "stop" ? "currentColor" : "none"}
        stroke="currentColor"
        stroke-width={name === "more" ? "2.4" : "1.4"}
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

/** A button that is only a drawing. `label` is what it does. */
export function IconButton(props: {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  /** It opens a menu, which is open or not; `controls`: the menu's id. */
  readonly menu?: boolean;
  readonly controls?: string;
}): JSX.Element {
  const { icon, label, onClick, disabled = false, pressed, menu, controls } = props;
  return (
    <button
      type="button"
      class="icon-button"
      title={label}
      aria-label={label}
      aria-pressed={pressed}
      aria-haspopup={menu === undefined ? undefined : "menu"}
      aria-expanded={menu}
      aria-controls={controls}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}

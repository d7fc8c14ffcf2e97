/** A line that opens. It begins closed; what is in it is drawn when it is open. Which are open is kept while the page lives. */
import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons";

interface Props {
  readonly title: ComponentChildren;
  readonly icon?: IconName;
  /** In the colour of what need not be read. */
  readonly quiet?: boolean;
  readonly open?: boolean;
  /** Beside the title, not part of the button. */
  readonly beside?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Fold({ title, icon, quiet = false, open = false, beside, children }: Props): JSX.Element {
  const [shown, show] = useState<boolean | undefined>(undefined);
  const id = useId();
  const isOpen = shown ?? open;
  return (
    <div class={`fold${quiet ? " quiet" : ""}${isOpen ? " open" : ""}`}>
      <div class="fold-bar">
        <button
          type="button"
          class="fold-title"
          aria-expanded={isOpen}
          aria-controls={isOpen ? id : undefined}
          onClick={() => {
            show(!isOpen);
          }}
        >
          <Icon name={isOpen ? "down" : "right"} />
          {icon !== undefined && <Icon name={icon} />}
          <span class="fold-words">{title}</span>
        </button>
        {beside}
      </div>
      {isOpen && (
        <div class="fold-body" id={id}>
          {children}
        </div>
      )}
    </div>
  );
}

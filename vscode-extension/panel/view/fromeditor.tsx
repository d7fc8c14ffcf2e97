/** What the user has before them in the editor, to be added by a click; without one nothing of it is sent. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import type { Draft } from "../app/drafts";
import { fileUri } from "../session/completion";
import type { Block } from "../session/updates";
import { nameOf } from "../session/visible";
import { usePanel } from "./context";
import { Icon } from "./icons";

export function FromEditor({
  draft,
  onAdd,
}: {
  readonly draft: Draft;
  readonly onAdd: (block: Block) => void;
}): JSX.Element | null {
  const { file } = usePanel().context.value;
  if (file === undefined) {
    return null;
  }
  const lines =
    file.from === undefined
      ? ""
      : `:${file.from}${file.to === undefined || file.to === file.from ? "" : `-${file.to}`}`;
  const name = `${nameOf(file.path)}${lines}`;
  const uri = `${fileUri(file.path)}${lines.replace(":", "#L")}`;
  const block: Block =
    file.selected === undefined ? { type: "link", uri, name } : { type: "resource", uri, text: file.selected };
  if (draft.attached.some((each) => "uri" in each && each.uri === uri)) {
    return null;
  }
  return (
    <button
      type="button"
      class="chip suggested"
      title={l10n.t("Send {0} with the message", name)}
      onClick={() => {
        onAdd(block);
      }}
    >
      <Icon name="attach" />
      {name}
    </button>
  );
}

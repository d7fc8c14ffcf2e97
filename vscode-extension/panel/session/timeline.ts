/** The checkpoints of a session, and what going back to one did. Pure. */
import * as l10n from "@vscode/l10n";
import { shownTimeline, travelled, type ShownMoment, type ShownTimeline } from "../../src/protocol/session";

const NOTHING: ShownTimeline = { moments: [], canUndo: false, canRedo: false };

/** With its steps, whose calls and files count for the turn that they are of. */
export function readTimeline(raw: unknown): ShownTimeline {
  const all = shownTimeline(raw) ?? NOTHING;
  const moments: ShownMoment[] = [];
  for (const moment of all.moments) {
    const last = moments.at(-1);
    if (moment.kind === "step" && last !== undefined) {
      moments[moments.length - 1] = {
        ...last,
        did: [...last.did, ...moment.did],
        files: [...new Set([...last.files, ...moment.files])],
      };
    } else {
      moments.push(moment);
    }
  }
  return { ...all, moments };
}

/** What became of going back. */
export interface Outcome {
  readonly went: boolean;
  /** In a sentence. */
  readonly said: string;
}

export function outcomeOf(raw: unknown): Outcome {
  const { outcome, files } = travelled(raw) ?? { outcome: "cancelled", files: [] };
  if (outcome !== "done") {
    const said = outcome === "nothing" ? l10n.t("There is nothing to go back to.") : l10n.t("It was cancelled.");
    return { went: false, said };
  }
  const left = files.filter((file) => file.action === "conflict" || file.action === "kept").length;
  const changed = files.length - left;
  const said = changed === 0 ? l10n.t("No file changed.") : wentBack(changed);
  return { went: true, said: left === 0 ? said : `${said} ${leftAsIs(left)}` };
}

function wentBack(files: number): string {
  return files === 1 ? l10n.t("1 file went back.") : l10n.t("{0} files went back.", files);
}

function leftAsIs(files: number): string {
  return files === 1
    ? l10n.t("1 was left as it is: the card says why.")
    : l10n.t("{0} were left as they are: the card says why.", files);
}

/** A prompt as it is shown. `attached`: something went with its words. */
export interface Prompted {
  readonly words: string;
  readonly attached: boolean;
}

/** The checkpoint before a prompt: the last of the turns that began with it, counted from the end. */
export function checkpointOf(timeline: ShownTimeline, prompt: Prompted, fromEnd: number): ShownMoment | undefined {
  const turns = timeline.moments.filter(
    (moment) => moment.reachable && moment.text !== "" && isOf(moment.text, prompt),
  );
  return turns.at(-1 - fromEnd);
}

/** A timeline has behind the words what things are called that went with them, if they are called something. */
function isOf(shown: string, { words, attached }: Prompted): boolean {
  const plain = (text: string): string => text.replace(/\s+/g, " ").trim();
  const [there, said] = [plain(shown), plain(words)];
  return there === said || (attached && there.startsWith(said === "" ? said : `${said} `));
}

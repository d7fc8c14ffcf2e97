/** The checkpoints of a session, and what going back to one did. Pure. */
import * as l10n from "@vscode/l10n";
import { list, number, object, text, type Json } from "./read";
import type { RestoredFile } from "./updates";

export interface Moment {
  readonly kind: string;
  readonly checkpoint: number;
  /** What the user said there. */
  readonly text: string;
  /** What was done after it: titles of calls. */
  readonly did: readonly string[];
  /** The files that changed after it. */
  readonly files: readonly string[];
  readonly reachable: boolean;
}

export interface Timeline {
  readonly moments: readonly Moment[];
  readonly canUndo: boolean;
  readonly canRedo: boolean;
}

/** With its steps, whose calls and files count for the turn that they are of. */
export function readTimeline(raw: unknown): Timeline {
  const timeline = object(raw);
  const moments: Moment[] = [];
  for (const moment of list(timeline["moments"]).map(object).map(readMoment)) {
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
  return { moments, canUndo: timeline["canUndo"] === true, canRedo: timeline["canRedo"] === true };
}

function readMoment(moment: Json): Moment {
  return {
    kind: text(moment["kind"]),
    checkpoint: number(moment["checkpoint"]) ?? -1,
    text: text(moment["text"]),
    did: list(moment["did"]).map((each) => text(each)),
    files: list(moment["files"]).map((each) => text(each)),
    reachable: moment["reachable"] === true,
  };
}

/** What became of going back. */
export interface Travelled {
  readonly went: boolean;
  /** In a sentence. */
  readonly said: string;
}

export function travelledOf(raw: unknown): Travelled {
  return { went: object(raw)["outcome"] === "done", said: outcomeOf(raw) };
}

/** What became of going back, in a sentence. */
export function outcomeOf(raw: unknown): string {
  const answer = object(raw);
  const files: readonly RestoredFile[] = list(answer["files"])
    .map(object)
    .map((file) => ({ path: text(file["path"]), action: text(file["action"]), reason: text(file["reason"]) }));
  if (answer["outcome"] === "nothing") {
    return l10n.t("There is nothing to go back to.");
  }
  if (answer["outcome"] === "cancelled") {
    return l10n.t("It was cancelled.");
  }
  const left = files.filter((file) => file.action === "conflict" || file.action === "kept").length;
  const changed = files.length - left;
  const said = changed === 0 ? l10n.t("No file changed.") : wentBack(changed);
  return left === 0 ? said : `${said} ${leftAsIs(left)}`;
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
export function checkpointOf(timeline: Timeline, prompt: Prompted, fromEnd: number): Moment | undefined {
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

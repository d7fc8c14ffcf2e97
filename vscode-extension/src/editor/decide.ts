/** Carries out what the user decides, and goes on asking where words of theirs are at stake. Never a modal dialog. */
import * as vscode from "vscode";
import { unlinked } from "./notice";
import type { KeepParams, LeftHunk, NamedHunk, ReviewOutcome, ShownHunk } from "../protocol/review";
import { hunksBelow, type Node } from "../review/groups";
import type { ReviewModel } from "../review/model";
import type { Buffers } from "./buffers";
import { callsOf } from "./chosen";
import { shownIn, type Places } from "./places";
import type { Review, Verdict } from "./review";

type Choice = NonNullable<KeepParams["choice"]>;
type What = Pick<KeepParams, "hunks" | "paths" | "sessionId" | "turnId" | "all"> & { readonly cwd: string };

const CHOICES: Record<string, { label: string; detail: string }> = {
  mine: {
    label: vscode.l10n.t("Keep My Words"),
    detail: vscode.l10n.t("What the agent wrote goes, what I typed in it stays"),
  },
  drop: {
    label: vscode.l10n.t("Drop My Words, Too"),
    detail: vscode.l10n.t("The lines go back to what they were; what I typed stays in the log"),
  },
  leave: {
    label: vscode.l10n.t("Leave These Lines"),
    detail: vscode.l10n.t("Nothing of this change is rejected now: it stays to be reviewed"),
  },
  replace: {
    label: vscode.l10n.t("Replace What Is There"),
    detail: vscode.l10n.t("What stands there now goes; it stays in the log"),
  },
};

export class Decider {
  readonly #review: Review;
  readonly #model: ReviewModel;
  readonly #buffers: Buffers;
  readonly #places: Places;
  /** Hunks that this window decided about last, the newest at the end. */
  readonly #decided: { cwd: string; ids: number[] }[] = [];
  /** Fulfilled when what was asked for is decided: a report of it comes before the answer. */
  #deciding: Promise<void> = Promise.resolve();

  constructor(review: Review, model: ReviewModel, buffers: Buffers, places: Places) {
    this.#review = review;
    this.#model = model;
    this.#buffers = buffers;
    this.#places = places;
  }

  /** One hunk, as it is shown. Says whether it is decided. */
  async hunk(verdict: Verdict, hunk: ShownHunk): Promise<boolean> {
    const cwd = this.#model.rootOf(hunk.path);
    if (cwd === undefined) {
      return false;
    }
    const answer = await this.#ask(verdict, { cwd, hunks: [named(hunk)] });
    const [left] = answer.left;
    // The user's own words since then make it no other change: they are asked about where that matters.
    const again = left?.why === "hunk_stale" && left.present !== null && callsOf(left.present) === callsOf(hunk);
    const last = again && left.present ? await this.#ask(verdict, { cwd, hunks: [named(left.present)] }) : answer;
    return await this.#finish(verdict, cwd, last);
  }

  /** All hunks below a node of the tree; what may be the user's is rejected by itself only. */
  async node(verdict: Verdict, node: Node): Promise<void> {
    const below = hunksBelow(node);
    const hunks = verdict === "reject" && node.kind !== "hunk" ? below.filter((hunk) => !hunk.unsure) : below;
    const cwd = hunks[0] && this.#model.rootOf(hunks[0].path);
    if (cwd !== undefined) {
      await this.#finish(verdict, cwd, await this.#ask(verdict, { cwd, hunks: hunks.map(named) }));
    }
    if (hunks.length < below.length) {
      void vscode.window.showWarningMessage(
        below.length - hunks.length === 1
          ? vscode.l10n.t("sould: 1 change left, which may be yours: reject each by itself")
          : vscode.l10n.t(
              "sould: {0} changes left, which may be yours: reject each by itself",
              below.length - hunks.length,
            ),
      );
    }
  }

  /** All hunks of a file. */
  async file(verdict: Verdict, path: string): Promise<void> {
    const cwd = this.#model.rootOf(path);
    if (cwd !== undefined) {
      await this.#finish(verdict, cwd, await this.#ask(verdict, { cwd, paths: [path] }));
    }
  }

  /** Everything that is pending in this window. */
  async everything(verdict: Verdict): Promise<void> {
    for (const { root } of [...this.#model.projects]) {
      await this.#finish(verdict, root, await this.#ask(verdict, { cwd: root, all: true }));
    }
  }

  /** Takes the last decision of this window back. */
  async undo(): Promise<void> {
    await this.#deciding;
    const last = this.#decided.pop();
    if (last === undefined) {
      this.#say(vscode.l10n.t("Nothing was decided in this window that could be taken back."));
      return;
    }
    const at = this.#decided.length;
    // What was not taken back is still the last one, but for what was decided meanwhile.
    const putBack = (ids: number[]): void => {
      if (ids.length > 0) {
        this.#decided.splice(at, 0, { cwd: last.cwd, ids });
      }
    };
    const asked = this.#review.undo({ cwd: last.cwd, hunks: last.ids.map((id) => ({ id })) });
    const outcome = await asked.catch((problem: unknown) => {
      putBack(last.ids);
      throw problem;
    });
    const refused = new Set(outcome.left.map((each) => each.id));
    putBack(last.ids.filter((id) => refused.has(id)));
    const [left] = outcome.left;
    this.#say(left ? left.message : pendingAgain(outcome.done.length));
  }

  async #ask(verdict: Verdict, what: What, choice?: Choice): Promise<ReviewOutcome> {
    this.#buffers.flush();
    const asked = this.#review.decide(verdict, choice === undefined ? what : { ...what, choice }).then((outcome) => {
      this.#remember(what.cwd, outcome);
      return outcome;
    });
    this.#deciding = Promise.allSettled([this.#deciding, asked]).then(() => undefined);
    return await asked;
  }

  async #finish(verdict: Verdict, cwd: string, outcome: ReviewOutcome): Promise<boolean> {
    const asking = outcome.left.filter((left) => left.choices.length > 0);
    const told = outcome.left.filter((left) => left.choices.length === 0);
    let decided = outcome.done.length > 0;
    if (asking.length > 0) {
      decided = (await this.#choose(verdict, cwd, asking)) || decided;
    }
    this.#tell(verdict, outcome, told);
    return decided;
  }

  /** Asks once for all that wait for the same kind of answer. */
  async #choose(verdict: Verdict, cwd: string, asking: readonly LeftHunk[]): Promise<boolean> {
    const [first] = asking;
    const choices = (first?.choices ?? []).map((choice) => ({ choice: choice as Choice, ...describe(choice) }));
    const title =
      asking.length === 1 ? (first?.message ?? "") : vscode.l10n.t("{0} changes with words of yours", asking.length);
    const picked = await vscode.window.showQuickPick(choices, {
      title,
      placeHolder: vscode.l10n.t("What becomes of what you typed?"),
    });
    if (picked === undefined || picked.choice === "leave") {
      return false;
    }
    const hunks = asking.map((left) => (left.present ? named(left.present) : this.#asShown(left)));
    const outcome = await this.#ask(verdict, { cwd, hunks }, picked.choice);
    this.#tell(verdict, outcome, outcome.left);
    return outcome.done.length > 0;
  }

  #asShown(left: LeftHunk): NamedHunk {
    const hunk = this.#model.hunk(left.path, left.id);
    return hunk ? named(hunk) : { id: left.id };
  }

  #remember(cwd: string, outcome: ReviewOutcome): void {
    const gone = outcome.done.filter((done) => done.newFile === "gone");
    if (gone.length > 0) {
      void this.#closeTabs(gone.map((done) => done.path));
    }
    const ids = outcome.done.map((done) => done.part || done.id);
    if (ids.length > 0) {
      this.#decided.push({ cwd, ids });
      this.#decided.splice(0, this.#decided.length - 100);
    }
  }

  #tell(verdict: Verdict, outcome: ReviewOutcome, left: readonly LeftHunk[]): void {
    const [first] = left;
    if (first !== undefined) {
      const words =
        left.length > 1 ? vscode.l10n.t("{0} (and {1} more)", first.message, left.length - 1) : first.message;
      void vscode.window.showWarningMessage(unlinked(`sould: ${words}`));
    }
    const waiting = outcome.done.filter((done) => done.waits).length;
    if (waiting > 0) {
      this.#say(
        waiting === 1
          ? vscode.l10n.t("1 change will be rejected when the agent's step ends")
          : vscode.l10n.t("{0} changes will be rejected when the agent's step ends", waiting),
      );
    } else if (outcome.done.length > 1) {
      this.#say(
        verdict === "keep"
          ? vscode.l10n.t("Kept {0} changes", outcome.done.length)
          : vscode.l10n.t("Rejected {0} changes", outcome.done.length),
      );
    }
  }

  /** A file that the agent made and its user rejected is no more: nor are its tabs. */
  async #closeTabs(paths: readonly string[]): Promise<void> {
    const uris = new Set(paths.map((path) => this.#places.uriOf(path).toString()));
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const shown = tabs.filter(({ input, isDirty }) => !isDirty && uris.has(shownIn(input)?.toString() ?? ""));
    await vscode.window.tabGroups.close(shown, true);
  }

  #say(words: string): void {
    vscode.window.setStatusBarMessage(`$(checklist) ${words}`, 5_000);
  }
}

function named(hunk: ShownHunk): NamedHunk {
  return { id: hunk.id, digest: hunk.digest };
}

function pendingAgain(count: number): string {
  return count === 1 ? vscode.l10n.t("1 change pending again") : vscode.l10n.t("{0} changes pending again", count);
}

function describe(choice: string): { label: string; detail: string } {
  return CHOICES[choice] ?? { label: choice, detail: "" };
}

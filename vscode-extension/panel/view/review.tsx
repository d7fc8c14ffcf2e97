/** What is to be reviewed, as a list: in a browser, where no editor shows it. Keep and reject, by hunk, by file, or all of it. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Session } from "../app/session";
import { titleOf, type Pending, type PendingFile } from "../session/review";
import { visible } from "../session/visible";
import { usePanel } from "./context";

type Verdict = "keep" | "reject";
type Decide = (verdict: Verdict, hunk?: Pending) => void;

export function Review({ session }: { readonly session: Session }): JSX.Element {
  const panel = usePanel();
  const files = session.edits.pending.value;
  useEffect(() => {
    void session.edits.look();
  }, [session]);
  const decide: Decide = (verdict, hunk) => {
    void panel.decide(session, verdict, hunk && [{ id: hunk.id, digest: hunk.digest }]);
  };
  return (
    <main class="review">
      {files?.length === 0 && <p class="nothing">{l10n.t("Nothing of this session is left to review.")}</p>}
      {files !== undefined && files.length > 0 && (
        <Buttons
          words={{ keep: l10n.t("Keep all"), reject: l10n.t("Reject all") }}
          decide={(verdict) => {
            decide(verdict);
          }}
          all
        />
      )}
      {files?.map((file) => (
        <OneFile key={file.path} file={file} name={titleOf(file, session.cwd)} decide={decide} />
      ))}
    </main>
  );
}

function OneFile({
  file,
  name,
  decide,
}: {
  readonly file: PendingFile;
  readonly name: string;
  readonly decide: Decide;
}): JSX.Element {
  const panel = usePanel();
  return (
    <section class="review-file" aria-label={name}>
      <h2>
        <button
          type="button"
          class="link"
          onClick={() => {
            panel.link.openFile({ path: file.path, line: file.hunks[0]?.line ?? 1 });
          }}
        >
          {name}
        </button>
      </h2>
      {file.hunks.map((hunk) => (
        <div class="diff" key={hunk.id}>
          {hunk.what !== "" && <p class="diff-bar">{hunk.what}</p>}
          <pre tabIndex={0} dir="ltr" aria-label={l10n.t("Line {0} of {1}", hunk.line, name)}>
            {hunk.removed.map((line, at) => (
              <Line key={`-${at}`} sign="−" kind="minus" text={line} />
            ))}
            {hunk.added.map((line, at) => (
              <Line key={`+${at}`} sign="+" kind="plus" text={line} />
            ))}
          </pre>
          <Buttons
            words={{ keep: l10n.t("Keep"), reject: l10n.t("Reject") }}
            labels={{
              keep: l10n.t("Keep line {0} of {1}", hunk.line, name),
              reject: l10n.t("Reject line {0} of {1}", hunk.line, name),
            }}
            decide={(verdict) => {
              decide(verdict, hunk);
            }}
          />
        </div>
      ))}
    </section>
  );
}

function Line({
  sign,
  kind,
  text,
}: {
  readonly sign: string;
  readonly kind: string;
  readonly text: string;
}): JSX.Element {
  return (
    <div class={`line ${kind}`}>
      <span class="sign">{sign}</span>
      <span>{visible(text.replace(/\r?\n$/, ""))}</span>
    </div>
  );
}

type Words = Readonly<Record<Verdict, string>>;

/** `labels`: what they are called where they are heard. */
function Buttons({
  words,
  labels = words,
  decide,
  all = false,
}: {
  readonly words: Words;
  readonly labels?: Words;
  readonly decide: (verdict: Verdict) => void;
  readonly all?: boolean;
}): JSX.Element {
  return (
    <div class="actions">
      <button
        type="button"
        class={all ? "button" : "button secondary"}
        aria-label={labels.keep}
        onClick={() => {
          decide("keep");
        }}
      >
        {words.keep}
      </button>
      <button
        type="button"
        class="button secondary"
        aria-label={labels.reject}
        onClick={() => {
          decide("reject");
        }}
      >
        {words.reject}
      </button>
    </div>
  );
}

/** What is to be reviewed, as a list: in a browser, where no editor shows it. Keep and reject, by hunk, by file, or all of it. */
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
      {files?.length === 0 && <p class="nothing">Nothing of this session is left to review.</p>}
      {files !== undefined && files.length > 0 && (
        <Buttons
          of="all"
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
          <pre tabIndex={0} dir="ltr" aria-label={`Line ${hunk.line} of ${name}`}>
            {hunk.removed.map((line, at) => (
              <Line key={`-${at}`} sign="−" kind="minus" text={line} />
            ))}
            {hunk.added.map((line, at) => (
              <Line key={`+${at}`} sign="+" kind="plus" text={line} />
            ))}
          </pre>
          <Buttons
            of={`line ${hunk.line} of ${name}`}
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

function Buttons({
  of,
  decide,
  all = false,
}: {
  readonly of: string;
  readonly decide: (verdict: Verdict) => void;
  readonly all?: boolean;
}): JSX.Element {
  const more = all ? " all" : "";
  return (
    <div class="actions">
      <button
        type="button"
        class={all ? "button" : "button secondary"}
        aria-label={`Keep ${of}`}
        onClick={() => {
          decide("keep");
        }}
      >
        Keep{more}
      </button>
      <button
        type="button"
        class="button secondary"
        aria-label={`Reject ${of}`}
        onClick={() => {
          decide("reject");
        }}
      >
        Reject{more}
      </button>
    </div>
  );
}

/**
 * Running cells of a notebook with the kernel that its user has chosen: `notebook_run`. The notebook is shown beside what the user does,
 * as VS Code runs none that nobody sees.
 *
 * VS Code does not say whether a kernel is chosen: without one its command comes to nothing, and so does a kernel that has nothing to say.
 */
import { stripVTControlCharacters } from "node:util";
import * as vscode from "vscode";
import * as z from "zod";
import { revealNotebook } from "../editor/reveal";
import type { CallResult } from "../protocol/editor";
import { type Call, type Data, ToolError } from "./call";
import { within } from "./waiting";

/** So long after VS Code's command is through a kernel may begin, or go on, without a sign. Milliseconds. */
const QUIET = 5_000;
const LONGEST_TEXT = 8_000;
const MOST_OUTPUTS = 50;

const STREAMS = ["application/vnd.code.notebook.stdout", "application/vnd.code.notebook.stderr"];
const FAILED = "application/vnd.code.notebook.error";
const failure = z.object({
  name: z.string().default("Error"),
  message: z.string().default(""),
  stack: z.string().nullish(),
});
const withId = z.object({ id: z.string() });

/** How one cell has come out; `undefined`: its kernel does not say. */
type Ended = { readonly success: boolean | undefined } | "late" | "not begun";

export async function run(call: Call): Promise<CallResult> {
  const notebook = await opened(call);
  const wanted = chosen(notebook, call.texts("cells"));
  const wasDirty = holdsUnsaved(notebook);
  await revealNotebook(notebook);
  const until = Date.now() + call.number("timeoutSec", 300) * 1_000;
  const ran: vscode.NotebookCell[] = [];
  let more = "";
  for (const cell of wanted) {
    const ended = await runOne(cell, until - Date.now(), call.signal);
    if (ended === "not begun") {
      throw new ToolError(
        "not_supported",
        `Cell ${cell.index + 1} did not run: the user has to choose a kernel for this notebook in VS Code, one that knows ${cell.document.languageId}.`,
      );
    }
    ran.push(cell);
    more = moreOf(cell, ended);
    if (ended === "late" || ended.success === false) {
      break;
    }
  }
  if (!wasDirty && holdsUnsaved(notebook)) {
    await within(notebook.save(), QUIET, call.signal);
  }
  const language =
    notebook.getCells().find((each) => each.kind === vscode.NotebookCellKind.Code)?.document.languageId ?? "";
  const data = { file: call.path(notebook.uri), cells: ran.map(described), total: notebook.cellCount, language };
  return { data, ...(more === "" ? {} : { more }) };
}

async function opened(call: Call): Promise<vscode.NotebookDocument> {
  const file = call.text("file");
  try {
    return await vscode.workspace.openNotebookDocument(call.places.uriOf(file));
  } catch {
    throw new ToolError("not_supported", `VS Code has no notebooks like ${file}.`);
  }
}

function holdsUnsaved(notebook: vscode.NotebookDocument): boolean {
  return notebook.isDirty;
}

/** The cells of code that ids or numbers mean; an id that looks like a number comes first. Raises ToolError. */
function chosen(notebook: vscode.NotebookDocument, names: readonly string[]): vscode.NotebookCell[] {
  const all = notebook.getCells();
  const found =
    names.length === 0 ? all : names.map((name) => all.find((each) => idOf(each) === name) ?? all[Number(name) - 1]);
  const code = found.filter((each) => each?.kind === vscode.NotebookCellKind.Code);
  if (names.length > 0 && code.length < found.length) {
    const at = found.findIndex((each) => each?.kind !== vscode.NotebookCellKind.Code);
    throw new ToolError("not_found", `There is no cell of code ${names[at] ?? ""} among ${all.length}.`);
  }
  return code.filter((each) => each !== undefined);
}

function idOf(cell: vscode.NotebookCell): string {
  return withId.safeParse(cell.metadata).data?.id ?? "";
}

/** Runs a cell, and waits for its end. When the call is taken back, it is stopped. */
async function runOne(cell: vscode.NotebookCell, milliseconds: number, signal: AbortSignal): Promise<Ended> {
  const given = { ranges: [{ start: cell.index, end: cell.index + 1 }], document: cell.notebook.uri };
  const watched = new Watched(cell);
  try {
    const through = vscode.commands.executeCommand("notebook.cell.execute", given);
    return await within(watched.ended(through), milliseconds, signal);
  } catch (problem) {
    if (signal.aborted) {
      void vscode.commands.executeCommand("notebook.cell.cancelExecution", given);
    }
    if (problem instanceof ToolError && problem.code === "timeout") {
      return "late";
    }
    throw problem;
  } finally {
    watched.dispose();
  }
}

/**
 * What a kernel lets VS Code know of one cell while it runs. First comes news of how the cell stood before; then its marks are taken
 * away, and what comes after that is of this run.
 */
class Watched implements vscode.Disposable {
  readonly #cell: vscode.NotebookCell;
  readonly #listening: vscode.Disposable;
  #cleared = false;
  #begun = false;
  #through = false;
  #timer: NodeJS.Timeout | undefined;
  #end: (ended: Ended) => void = () => undefined;
  readonly #ended = new Promise<Ended>((resolve) => {
    this.#end = resolve;
  });

  constructor(cell: vscode.NotebookCell) {
    this.#cell = cell;
    this.#listening = vscode.workspace.onDidChangeNotebookDocument((event) => {
      event.cellChanges
        .filter((each) => each.cell === this.#cell)
        .forEach((change) => {
          this.#hear(change);
        });
    });
  }

  dispose(): void {
    this.#listening.dispose();
    clearTimeout(this.#timer);
  }

  /** `through`: VS Code's command, which may be before or after the end of the cell. */
  async ended(through: Thenable<unknown>): Promise<Ended> {
    const waited = Promise.resolve(through).then(() => {
      this.#through = true;
      this.#wait();
      return this.#ended;
    });
    return await Promise.race([this.#ended, waited]);
  }

  #hear({ executionSummary: now, outputs }: vscode.NotebookDocumentCellChange): void {
    const hasEnded = now?.timing !== undefined || typeof now?.success === "boolean";
    if (now !== undefined && !hasEnded && now.executionOrder === undefined) {
      this.#cleared = true;
    } else if (this.#cleared && hasEnded) {
      this.#end({ success: typeof now.success === "boolean" ? now.success : undefined });
    } else if (this.#cleared || outputs !== undefined) {
      this.#begun = true;
    }
    this.#wait();
  }

  #wait(): void {
    clearTimeout(this.#timer);
    if (this.#through) {
      this.#timer = setTimeout(() => {
        this.#end(this.#begun ? { success: undefined } : "not begun");
      }, QUIET);
    }
  }
}

function moreOf(cell: vscode.NotebookCell, ended: Exclude<Ended, "not begun">): string {
  const name = `Cell ${cell.index + 1}`;
  if (ended === "late") {
    return `${name} has not ended in time, and goes on; VS Code may also be waiting for its user to choose a kernel.`;
  }
  return ended.success === false ? `${name} failed; the cells behind it did not run.` : "";
}

function described(cell: vscode.NotebookCell): Data {
  const order = cell.executionSummary?.executionOrder;
  return {
    number: cell.index + 1,
    kind: "code",
    source: clip(cell.document.getText()),
    id: idOf(cell),
    ...(order === undefined ? {} : { executionCount: order }),
    outputs: outputsOf(cell),
  };
}

/** What a cell printed in pieces is one output; of what is no text only the kind is told. */
function outputsOf(cell: vscode.NotebookCell): Data[] {
  const found: { kind: string; text: string }[] = [];
  for (const { mime, data } of cell.outputs.flatMap((each) => each.items)) {
    const last = found.at(-1);
    if (STREAMS.includes(mime)) {
      if (last?.kind === "stream") {
        last.text += textOf(data);
      } else {
        found.push({ kind: "stream", text: textOf(data) });
      }
    } else {
      found.push(
        mime === FAILED
          ? { kind: "error", text: errorOf(textOf(data)) }
          : { kind: mime, text: isText(mime) ? textOf(data) : "" },
      );
    }
  }
  return found.slice(0, MOST_OUTPUTS).map(({ kind, text }) => ({ kind, text: clip(text) }));
}

function isText(mime: string): boolean {
  return mime.startsWith("text/") || mime === "application/json";
}

function textOf(data: Uint8Array): string {
  return new TextDecoder().decode(data);
}

function errorOf(text: string): string {
  try {
    const { name, message, stack } = failure.parse(JSON.parse(text));
    return stripVTControlCharacters(stack ?? `${name}: ${message}`);
  } catch {
    return text;
  }
}

function clip(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)} [...]` : text;
}

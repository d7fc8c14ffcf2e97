/** A notebook, and a kernel for it that does what a test says. */
import { document, fake, NotebookCellKind, Uri } from "./vscode";

interface Summary {
  readonly executionOrder?: number;
  readonly success?: boolean;
  readonly timing?: object;
}

interface Output {
  readonly items: { mime: string; data: Uint8Array }[];
}

export class FakeCell {
  readonly index: number;
  readonly kind: number;
  readonly document;
  readonly metadata: object;
  readonly notebook: FakeNotebook;
  executionSummary: Summary | undefined;
  outputs: Output[] = [];

  constructor(notebook: FakeNotebook, index: number, source: string, id: string, isCode: boolean) {
    this.notebook = notebook;
    this.index = index;
    this.kind = isCode ? NotebookCellKind.Code : NotebookCellKind.Markup;
    this.document = document(`${notebook.uri.path}#${id}`, source, isCode ? "python" : "markdown");
    this.metadata = { id };
  }

  /** The kernel says how it stands. */
  stands(executionSummary: Summary): void {
    this.executionSummary = executionSummary;
    fake.notebookChanged.fire({ notebook: this.notebook, cellChanges: [{ cell: this, executionSummary }] });
  }

  shows(...items: [mime: string, text: string][]): void {
    this.outputs = items.map(([mime, text]) => ({ items: [{ mime, data: new TextEncoder().encode(text) }] }));
    this.notebook.isDirty = true;
    fake.notebookChanged.fire({ notebook: this.notebook, cellChanges: [{ cell: this, outputs: this.outputs }] });
  }
}

export class FakeNotebook {
  readonly uri: Uri;
  readonly cells: FakeCell[];
  isDirty = false;
  saved = 0;

  /** `cells`: their ids and sources; what begins with `#` is Markdown. */
  constructor(path: string, cells: [id: string, source: string][]) {
    this.uri = Uri.file(path);
    this.cells = cells.map(([id, source], index) => new FakeCell(this, index, source, id, !source.startsWith("#")));
  }

  get cellCount(): number {
    return this.cells.length;
  }

  getCells(): FakeCell[] {
    return this.cells;
  }

  save(): Promise<boolean> {
    this.saved += 1;
    this.isDirty = false;
    return Promise.resolve(true);
  }

  /** Where VS Code's command to run cells comes. */
  onRun(does: (cell: FakeCell) => unknown): void {
    fake.does.set("notebook.cell.execute", (given) => {
      const { ranges } = given as { ranges: { start: number }[] };
      const cell = this.cells[ranges[0]?.start ?? -1];
      return cell && does(cell);
    });
  }
}

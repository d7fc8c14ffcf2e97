import { beforeEach, describe, expect, it } from "vitest";
import { Places } from "../src/editor/places";
import type { CallResult } from "../src/protocol/editor";
import { Call } from "../src/tools/call";
import { move } from "../src/tools/move";
import { document, fake, Position, Range, reset, TextEdit, Uri } from "./fake/vscode";

const NEW_FILE = "refactor.move.newFile";
const TOP = new Range(new Position(0, 0), new Position(0, 0));

beforeEach(() => {
  reset();
  for (const path of ["/shop/src/area.ts", "/shop/src/there.ts", "/shop/use.ts"]) {
    fake.documents.set(path, document(path, "export function area() {}\n"));
  }
});

const ask = (target: string): Promise<CallResult> => {
  const call = {
    tool: "move_symbol",
    arguments: { file: "/shop/src/area.ts", target },
    root: "/shop",
    directories: [],
    at: { line: 1, column: 17 },
    digest: "",
    sessionId: "",
  };
  return move(new Call(call, new Places(), new AbortController().signal));
};

/** What TypeScript's service would do: files, and what it puts at their tops. */
const offers = (...edits: [path: string, text: string][]): void => {
  const entries = edits.map(([path, text]) => [Uri.file(path), [new TextEdit(TOP, text)]]);
  fake.does.set("vscode.executeCodeActionProvider", () => [
    { title: "Move to a new file", kind: { value: NEW_FILE }, edit: { entries: () => entries } },
  ]);
};

describe("moving a symbol", () => {
  it("makes the file that the agent named, and what uses it imports it from there", async () => {
    offers(
      ["/shop/src/area.ts", "import { area } from './area.1';\nimport x from './lib/area.1';\n"],
      ["/shop/use.ts", 'import { area } from "./src/area.1.js";\n'],
      ["/shop/src/area.1.ts", 'import { twice } from "./area";\nexport function area() {}\n'],
    );
    const { edits } = await ask("/shop/src/shapes.ts");
    expect(
      edits?.map(({ file, edits: changes, newText }) => [file, newText ?? changes?.map((each) => each.newText).join()]),
    ).toEqual([
      ["/shop/src/shapes.ts", 'import { twice } from "./area";\nexport function area() {}\n'],
      ["/shop/src/area.ts", "import { area } from './shapes';\nimport x from './lib/area.1';\n"],
      ["/shop/use.ts", 'import { area } from "./src/shapes.js";\n'],
    ]);
  });

  it("refuses a file that is there, another directory, another language, and imports it cannot follow", async () => {
    offers(
      ["/shop/use.ts", 'import { area } from "src/area.1";\n'],
      ["/shop/src/area.1.ts", "export function area() {}\n"],
    );
    for (const target of ["/shop/src/there.ts", "/shop/shapes.ts", "/shop/src/shapes.py", "/shop/src/shapes.ts"]) {
      await expect(ask(target)).rejects.toMatchObject({ code: "not_supported" });
    }
  });

  it("says so where nothing is offered, or something else than one new file", async () => {
    await expect(ask("/shop/src/shapes.ts")).rejects.toThrow("at the top of a file");
    offers(["/shop/use.ts", "changed"]);
    await expect(ask("/shop/src/shapes.ts")).rejects.toMatchObject({ code: "not_supported" });
  });
});

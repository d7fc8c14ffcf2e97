import { beforeEach, describe, expect, it } from "vitest";
import { unlinked } from "../src/editor/notice";
import { Places } from "../src/editor/places";
import { Call, editsOf } from "../src/tools/call";
import { hierarchy, references } from "../src/tools/language";
import { document, fake, Position, Range, reset, TextEdit, Uri } from "./fake/vscode";

const AT = new Range(new Position(0, 0), new Position(0, 3));

beforeEach(() => {
  reset();
  fake.documents.set("/shop/a.py", document("/shop/a.py", "one\ntwo\n"));
});

const calling = (given: object = {}): Call =>
  new Call(
    {
      tool: "a tool",
      arguments: { file: "/shop/a.py", ...given },
      root: "/shop",
      directories: [],
      at: { line: 1, column: 1 },
      digest: "",
      sessionId: "",
    },
    new Places(),
    new AbortController().signal,
  );

describe("what language servers say", () => {
  it("is looked at no further than it is asked for", async () => {
    const paths = Array.from({ length: 500 }, (_, index) => `/shop/${index}.py`);
    paths.forEach((path) => fake.documents.set(path, document(path, "one\n")));
    fake.does.set("vscode.executeReferenceProvider", () => paths.map((path) => ({ uri: Uri.file(path), range: AT })));
    const { data } = await references(calling({ limit: 10, includeDeclaration: true }));
    expect(data).toMatchObject({ total: 500 });
    expect((data as { groups: object[] }).groups).toHaveLength(11); // one more says that there are more
    expect(fake.opened).toHaveLength(12);
  });

  it("is no tree without an end, whatever calls whatever", async () => {
    const item = { name: "f", kind: 11, uri: Uri.file("/shop/a.py"), selectionRange: AT };
    let asked = 0;
    fake.does.set("vscode.prepareCallHierarchy", () => [item]);
    fake.does.set("vscode.provideIncomingCalls", () => {
      asked += 1;
      return Array.from({ length: 30 }, () => ({ from: item }));
    });
    const { data } = await hierarchy(calling({ kind: "calls_in", depth: 5 }));
    expect(asked).toBeLessThan(300);
    expect(JSON.stringify(data).split('"name"')).toHaveLength(301);
  });
});

describe("edits", () => {
  const texts = [[Uri.file("/shop/a.py"), [new TextEdit(AT, "1")]]];
  const edit = (parts: unknown[]): never => ({ parts, size: 1, entries: () => texts }) as never;

  it("of text come as they are", async () => {
    expect(await editsOf(edit(["a text"]), calling())).toMatchObject([
      { file: "/shop/a.py", edits: [{ newText: "1" }] },
    ]);
  });

  it("that also make, move or delete files are refused, of which VS Code tells nothing", async () => {
    await expect(editsOf(edit(["a text", "a file that is moved"]), calling())).rejects.toMatchObject({
      code: "not_supported",
    });
  });
});

describe("notifications", () => {
  it("have no links of others: one may run a command", () => {
    expect(unlinked("Run `[it](command:workbench.action.quit)`, a[0](b)")).toBe(
      "Run `[it] (command:workbench.action.quit)`, a[0] (b)",
    );
  });
});

/** The tools that VS Code's language features answer. They ask the providers that the user has; nothing is shown. */
import * as vscode from "vscode";
import type { CallResult } from "../protocol/editor";
import { type Call, type Data, editsOf, spanOf, ToolError } from "./call";

/** Of a hierarchy, all levels together. */
const MOST_RELATED = 300;
const MOST_LOCATIONS = 50;

type Locations = (vscode.Location | vscode.LocationLink)[];

const DEFINITION: Record<string, string> = {
  definition: "vscode.executeDefinitionProvider",
  declaration: "vscode.executeDeclarationProvider",
  type: "vscode.executeTypeDefinitionProvider",
  implementation: "vscode.executeImplementationProvider",
};

async function ask<T>(command: string, ...given: unknown[]): Promise<T | undefined> {
  return await vscode.commands.executeCommand<T | undefined>(command, ...given);
}

export async function symbols(call: Call): Promise<CallResult> {
  if (call.text("file") === "") {
    return { data: { symbols: await projectSymbols(call) } };
  }
  const document = await call.document();
  const tree = await symbolsOf(document);
  if (tree === undefined) {
    throw new ToolError("not_supported", `Nothing in VS Code knows the symbols of ${document.languageId} files.`);
  }
  const kinds = call.texts("kinds");
  const all = outline(tree, document, call, [], call.number("depth", 1));
  const wanted = all.filter((each) => kinds.length === 0 || kinds.includes(String(each["kind"])));
  return { data: { symbols: wanted.slice(0, call.most) } };
}

/** The tree of symbols; undefined: nobody knows them. VS Code makes one of what older providers give in a row. */
export async function symbolsOf(document: vscode.TextDocument): Promise<vscode.DocumentSymbol[] | undefined> {
  return await ask<vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", document.uri);
}

function outline(
  found: readonly vscode.DocumentSymbol[],
  document: vscode.TextDocument,
  call: Call,
  above: readonly string[],
  depth: number,
): Data[] {
  return found.flatMap((symbol) => {
    const names = [...above, symbol.name];
    const described: Data = {
      name: symbol.name,
      namePath: names.join("/"),
      kind: kindName(symbol.kind),
      file: document.uri.fsPath,
      range: spanOf(symbol.range),
      selectionRange: spanOf(symbol.selectionRange),
      signature: symbol.detail,
      ...(call.flag("includeBody") ? { body: document.getText(symbol.range) } : {}),
    };
    return [described, ...(depth > 0 ? outline(symbol.children, document, call, names, depth - 1) : [])];
  });
}

async function projectSymbols(call: Call): Promise<Data[]> {
  const found =
    (await ask<vscode.SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", call.text("query"))) ?? [];
  const kinds = call.texts("kinds");
  const described = found.map((symbol): Data => ({
    name: symbol.name,
    namePath: [symbol.containerName, symbol.name].filter(Boolean).join("/"),
    kind: kindName(symbol.kind),
    file: call.path(symbol.location.uri),
    range: spanOf(symbol.location.range),
  }));
  const wanted = described.filter((each) => each["file"] !== undefined);
  const fitting = wanted.filter((each) => kinds.length === 0 || kinds.includes(String(each["kind"])));
  return fitting.slice(0, call.most);
}

export async function definition(call: Call): Promise<CallResult> {
  const document = await call.document();
  const command = DEFINITION[call.text("kind")] ?? "vscode.executeDefinitionProvider";
  const found = (await ask<Locations>(command, document.uri, call.at(document))) ?? [];
  const locations = await Promise.all(found.slice(0, MOST_LOCATIONS).map((each) => location(each, call)));
  return { data: { locations: locations.filter((each) => each !== undefined) } };
}

async function location(found: vscode.Location | vscode.LocationLink, call: Call): Promise<Data | undefined> {
  const [uri, range, whole] =
    "targetUri" in found
      ? [found.targetUri, found.targetSelectionRange ?? found.targetRange, found.targetRange]
      : [found.uri, found.range, found.range];
  const file = call.path(uri);
  if (file === undefined) {
    return undefined;
  }
  const document = await call.document(file);
  const preview = document.lineAt(Math.min(range.start.line, document.lineCount - 1)).text.trim();
  return {
    file,
    range: spanOf(range),
    preview,
    ...(call.flag("includeBody") ? { body: document.getText(whole) } : {}),
  };
}

export async function references(call: Call): Promise<CallResult> {
  const document = await call.document();
  const at = call.at(document);
  const declared = call.flag("includeDeclaration")
    ? []
    : ((await ask<Locations>("vscode.executeDefinitionProvider", document.uri, at)) ?? []);
  const { total, groups } = await usesOf(document, at, call, (use) => !declared.some((one) => isSame(one, use)));
  return { data: { total, groups } };
}

/** Where a symbol is used, as far as it is `wanted`. `known`: all places that are known, its declaration among them. */
export async function usesOf(
  document: vscode.TextDocument,
  at: vscode.Position,
  call: Call,
  wanted: (use: vscode.Location) => boolean,
): Promise<{ known: number; total: number; groups: Data[] }> {
  const found = (await ask<vscode.Location[]>("vscode.executeReferenceProvider", document.uri, at)) ?? [];
  const uses = found.filter(wanted);
  const groups = new Map<string, Data[]>();
  for (const use of uses.slice(0, call.most)) {
    const file = call.path(use.uri);
    if (file !== undefined) {
      const lines = await call.document(file);
      const { line, character } = use.range.start;
      const hits = groups.get(file) ?? [];
      groups.set(file, hits);
      hits.push({
        line: line + 1,
        column: character + 1,
        text: lines.lineAt(Math.min(line, lines.lineCount - 1)).text.trim(),
      });
    }
  }
  return { known: found.length, total: uses.length, groups: [...groups].map(([file, hits]) => ({ file, hits })) };
}

function isSame(one: vscode.Location | vscode.LocationLink, other: vscode.Location): boolean {
  const [uri, range] =
    "targetUri" in one ? [one.targetUri, one.targetSelectionRange ?? one.targetRange] : [one.uri, one.range];
  return uri.toString() === other.uri.toString() && range.contains(other.range.start);
}

export async function hover(call: Call): Promise<CallResult> {
  const document = await call.document();
  const found = (await ask<vscode.Hover[]>("vscode.executeHoverProvider", document.uri, call.at(document))) ?? [];
  const parts = found
    .flatMap((each) => each.contents)
    .map((each) => (each instanceof vscode.MarkdownString ? each.value : marked(each)));
  const markdown = parts.filter(Boolean).join("\n\n");
  if (markdown === "") {
    throw new ToolError("not_found", "VS Code has nothing to say about this place.");
  }
  return { data: { markdown } };
}

/** What older providers give in place of Markdown: text, or code with its language. */
function marked(part: string | { language: string; value: string }): string {
  return typeof part === "string" ? part : new vscode.MarkdownString().appendCodeblock(part.value, part.language).value;
}

export async function hierarchy(call: Call): Promise<CallResult> {
  const document = await call.document();
  const at = call.at(document);
  const kind = call.text("kind");
  const calls = kind === "calls_in" || kind === "calls_out";
  const prepare = calls ? "vscode.prepareCallHierarchy" : "vscode.prepareTypeHierarchy";
  const roots = (await ask<HierarchyItem[]>(prepare, document.uri, at)) ?? [];
  return { data: { items: await new Relations(kind, call).of(roots, call.number("depth", 1)) } };
}

type HierarchyItem = vscode.CallHierarchyItem | vscode.TypeHierarchyItem;

/** A tree of who calls whom grows fast with its depth: nothing is asked about more than `MOST_RELATED`. */
class Relations {
  readonly #kind: string;
  readonly #call: Call;
  #left = MOST_RELATED;

  constructor(kind: string, call: Call) {
    this.#kind = kind;
    this.#call = call;
  }

  async of(found: readonly HierarchyItem[], depth: number): Promise<Data[]> {
    const taken = found.slice(0, this.#left);
    this.#left -= taken.length;
    const described: Data[] = [];
    for (const item of taken) {
      const isWanted = depth > 0 && this.#left > 0 && !this.#call.signal.aborted;
      described.push({
        name: item.name,
        kind: kindName(item.kind),
        file: this.#call.path(item.uri) ?? item.uri.fsPath,
        range: spanOf(item.selectionRange),
        items: isWanted ? await this.of(await neighbours(item, this.#kind), depth - 1) : [],
      });
    }
    return described;
  }
}

async function neighbours(item: HierarchyItem, kind: string): Promise<HierarchyItem[]> {
  switch (kind) {
    case "calls_in":
      return ((await ask<vscode.CallHierarchyIncomingCall[]>("vscode.provideIncomingCalls", item)) ?? []).map(
        (each) => each.from,
      );
    case "calls_out":
      return ((await ask<vscode.CallHierarchyOutgoingCall[]>("vscode.provideOutgoingCalls", item)) ?? []).map(
        (each) => each.to,
      );
    case "super":
      return (await ask<vscode.TypeHierarchyItem[]>("vscode.provideSupertypes", item)) ?? [];
    default:
      return (await ask<vscode.TypeHierarchyItem[]>("vscode.provideSubtypes", item)) ?? [];
  }
}

export async function rename(call: Call): Promise<CallResult> {
  const document = await call.document();
  const at = call.at(document);
  const edit = await ask<vscode.WorkspaceEdit>(
    "vscode.executeDocumentRenameProvider",
    document.uri,
    at,
    call.text("newName"),
  );
  if (edit === undefined || edit.size === 0) {
    throw new ToolError("not_found", "VS Code finds nothing to be renamed at this place.");
  }
  return { data: {}, edits: await editsOf(edit, call) };
}

function kindName(kind: vscode.SymbolKind): string {
  return vscode.SymbolKind[kind].replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

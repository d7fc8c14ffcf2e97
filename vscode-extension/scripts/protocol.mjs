// Writes src/protocol/review.ts, inbox.ts, editor.ts and session.ts from the JSON Schemas of docs/schemas, and into package.json the
// editor tools that VS Code's own agents are offered; with --check, fails when they are not what those say.
//
// Of what the extension says, they have the types; of what the daemon says, what reads it, made of src/protocol/readers.ts.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";
import { format } from "prettier";
import * as kinds from "../src/protocol/readers.ts";

/** What the extension says and reads, by the folder of docs/schemas; each with the types that it has. */
const USED = {
  review: {
    said: ["CommentParams", "KeepParams", "RejectParams", "ReportParams", "UndoParams", "WriteResult"],
    read: ["Base", "Rejected", "ReviewChanged", "ReviewList", "ReviewOutcome", "SentComments", "Write"],
  },
  inbox: { said: ["AnswerParams"], read: ["Answered", "InboxChanged", "InboxList"] },
  editor: { said: ["CallResult", "StateParams"], read: ["EditorCall", "RunAnswer"] },
  session: {
    said: [],
    read: [
      "BackgroundTasks",
      "ChangedQueue",
      "CommitMessage",
      "ContextBreakdown",
      "Exported",
      "Imported",
      "KeptConversations",
      "Queue",
      "SessionResources",
      "ShownTimeline",
      "TaskOutput",
      "Transcript",
      "Travelled",
    ],
  },
};

/** What a word is taken for that is not known here, where a newer daemon may say one. It has to be harmless. */
const OTHERWISE = {
  "ShownLine.author": "mixed",
  "ShownHunk.kind": "content",
  "ShownHunk.state": "pending",
  "LeftHunk.why": "failed",
  "InboxItem.kind": "unknown", // It can be shown, and nothing else.
  "EndedItem.outcome": "answered",
  "BackgroundTask.kind": "shell",
  "BackgroundTask.status": "lost",
  "ShownMoment.kind": "event",
};

/** Lists of which nothing may be left out: what has one that cannot be read cannot be read itself. */
const WHOLE = new Set([
  "ShownHunk.lines",
  "ShownHunk.agents",
  "InboxItem.commands",
  "InboxItem.edits",
  "InboxItem.questions",
]);

/** The editor tools that VS Code has not for its own agents; package.nls.json has what its user sees of them. What writes is asked about before. */
const OFFERED = [
  "diagnostics",
  "symbols",
  "definition",
  "references",
  "hierarchy",
  "hover",
  "quick_fixes",
  "review",
  "rename",
  "move_symbol",
  "safe_delete",
];

/** `keep.params.json` describes `KeepParams`. */
function nameOf(file) {
  const words = file.replace(/\.json$/, "").split(".");
  return words.map((word) => word[0].toUpperCase() + word.slice(1)).join("");
}

/** A definition for each type, whichever file it stands in. */
async function gather(part) {
  const schemas = new URL(`../../docs/schemas/${part}/`, import.meta.url);
  const definitions = {};
  for (const file of (await readdir(schemas)).filter((name) => name !== "catalogue.json").sort()) {
    const { $defs = {}, $schema: _, title: __, ...top } = JSON.parse(await readFile(new URL(file, schemas), "utf8"));
    Object.assign(definitions, $defs);
    if (!top.$ref) definitions[nameOf(file)] = { ...top, title: nameOf(file) };
  }
  return definitions;
}

/** These types, each before those that it has. */
function withParts(types, definitions) {
  const found = new Set();
  const take = (type) => {
    if (!found.has(type)) {
      found.add(type);
      [...JSON.stringify(definitions[type]).matchAll(/#\/\$defs\/(\w+)/g)].forEach(([, part]) => take(part));
    }
  };
  types.forEach(take);
  return Object.fromEntries([...found].map((type) => [type, definitions[type]]));
}

/** Without `_meta`, which anything may have and we never say. */
function plainOf(properties) {
  return Object.entries(properties).filter(([name]) => name !== "_meta");
}

/** Removes titles of properties, which would become types of their own, and limits; points at the gathered definitions. */
function plain(value, isProperty = false) {
  if (Array.isArray(value)) return value.map((each) => plain(each));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(
    ([key, each]) =>
      !(isProperty && key === "title") &&
      !(key === "minItems" && each === 1) &&
      !(key === "maxItems" && !value.prefixItems),
  );
  return Object.fromEntries(
    entries.map(([key, each]) => {
      if (key === "$ref") return [key, each.replace("#/$defs/", "#/definitions/")];
      if (key === "prefixItems") return ["items", plain(each)];
      if (key === "properties") return [key, Object.fromEntries(plainOf(each).map(([n, p]) => [n, plain(p, true)]))];
      return [key, plain(each)];
    }),
  );
}

/** What is read, as it is behind its reader: nothing is missing, and any word may be one that is not known. */
function behindReader(read) {
  const field = (place, schema) => {
    if (schema.enum) return { ...schema, enum: [...new Set([...schema.enum, OTHERWISE[place] ?? schema.enum[0]])] };
    if (schema.anyOf) return { ...schema, anyOf: schema.anyOf.map((each) => field(place, each)) };
    return schema.type === "object" ? { additionalProperties: true, ...schema } : schema;
  };
  const complete = ([type, { properties, ...more }]) => {
    const fields = plainOf(properties).map(([name, schema]) => [name, field(`${type}.${name}`, schema)]);
    return [type, { ...more, properties: Object.fromEntries(fields), required: fields.map(([name]) => name) }];
  };
  return Object.fromEntries(Object.entries(read).map(complete));
}

async function typesOf(definitions) {
  const all = { title: "Everything", type: "object", definitions: plain(definitions), additionalProperties: false };
  const written = await compile(all, "Everything", {
    bannerComment: "",
    additionalProperties: false,
    unreachableDefinitions: true,
    style: { printWidth: 120 },
  });
  return written
    .replace("export interface Everything {}\n", "")
    .replace(
      /( \*\n)? \* This interface was referenced by `Everything`'s JSON-Schema\n \* via the `definition` "\w+"\.\n/g,
      "",
    )
    .replace(/^\/\*\*\n \*\/\n/gm, "")
    .replace(/^\/\*\*\n \* (.*)\n \*\/\n/gm, "/** $1 */\n");
}

function referred(schema) {
  return schema.$ref.slice("#/$defs/".length);
}

/** `ShownHunk` is read by `shownHunk`. */
function readerName(type) {
  return type[0].toLowerCase() + type.slice(1);
}

/** What reads a value; `place`: the field of a type that has it. */
function readerOf(schema, place) {
  if (schema.$ref) return readerName(referred(schema));
  if (schema.anyOf)
    return `nullable(${readerOf(
      schema.anyOf.find((each) => each.type !== "null"),
      place,
    )})`;
  if (schema.enum)
    return `oneOf(${[schema.enum, OTHERWISE[place]]
      .filter(Boolean)
      .map((each) => JSON.stringify(each))
      .join()})`;
  if (schema.type === "array") {
    return `${schema.items.$ref && !WHOLE.has(place) ? "known" : "list"}(${readerOf(schema.items, place)})`;
  }
  if (schema.additionalProperties?.type === "integer") return "numbers";
  return { string: "text", integer: "number", number: "number", boolean: "flag", object: "object" }[schema.type];
}

/** One that is left out on the wire has its default. */
function fieldOf(type, [name, schema], required) {
  const reader = readerOf(schema, `${type}.${name}`);
  return `${name}: ${required.includes(name) ? reader : `or(${reader}, ${JSON.stringify("default" in schema ? schema.default : {})})`}`;
}

/** What reads what the daemon says. */
function readersOf(read) {
  return Object.entries(read).map(([type, { properties, required = [] }]) => {
    const fields = plainOf(properties).map((each) => fieldOf(type, each, required));
    return `export const ${readerName(type)}: Reader<${type}> = /* @__PURE__ */ shape(() => ({ ${fields.join()} }));\n`;
  });
}

async function protocolOf(part) {
  const definitions = await gather(part);
  const [said, read] = [withParts(USED[part].said, definitions), withParts(USED[part].read, definitions)];
  const [types, readers] = [await typesOf({ ...behindReader(read), ...said }), readersOf(read).join("")];
  const used = Object.keys(kinds).filter((kind) => new RegExp(`\\b${kind}[(,) ]`).test(readers));
  const text = `// Written by scripts/protocol.mjs from docs/schemas/${part}; change the daemon's shapes, and run make schemas.
    import { ${used.join()}, type Reader } from "./readers";\n\n${types}\n${readers}`;
  return await format(text, { parser: "typescript", printWidth: 120 });
}

/** package.json with the tools as the catalogue declares them. */
async function manifestOf(file) {
  const catalogue = JSON.parse(
    await readFile(new URL("../../docs/schemas/editor/catalogue.json", import.meta.url), "utf8"),
  );
  const manifest = JSON.parse(await readFile(file, "utf8"));
  manifest.contributes.languageModelTools = OFFERED.map((name) => ({
    name: `sould_${name}`,
    displayName: `%tool.${name}.displayName%`,
    userDescription: `%tool.${name}.userDescription%`,
    modelDescription: catalogue[name].description,
    toolReferenceName: `sould-${name.replaceAll("_", "-")}`,
    canBeReferencedInPrompt: true,
    icon: "media/icon.svg",
    tags: ["sould", catalogue[name].does],
    when: "config.sould.offerEditorTools == tools",
    inputSchema: catalogue[name].arguments,
  }));
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

async function agree(name, source, text) {
  const file = new URL(`../${name}`, import.meta.url);
  if (!process.argv.includes("--check")) {
    await writeFile(file, text);
  } else if (text !== (await readFile(file, "utf8").catch(() => ""))) {
    console.error(`vscode-extension/${name} is not what docs/schemas/${source} says: run make schemas`);
    process.exitCode = 1;
  }
}

for (const part of Object.keys(USED)) {
  await agree(`src/protocol/${part}.ts`, part, await protocolOf(part));
}
await agree("package.json", "editor/catalogue.json", await manifestOf(new URL("../package.json", import.meta.url)));

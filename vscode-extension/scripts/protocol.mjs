// Writes src/protocol/review.ts, inbox.ts, editor.ts, session.ts and files.ts from the JSON Schemas of docs/schemas, and into package.json the
// editor tools that VS Code's own agents are offered; with --check, fails when they are not what those say.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const PARTS = ["review", "inbox", "editor", "session", "files"];

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

/** One schema with a definition for each type, whichever file it stands in. */
async function gather(schemas) {
  const definitions = {};
  for (const file of (await readdir(schemas)).filter((name) => name !== "catalogue.json").sort()) {
    const { $defs = {}, $schema: _, title: __, ...top } = JSON.parse(await readFile(new URL(file, schemas), "utf8"));
    Object.assign(definitions, $defs);
    if (!top.$ref) definitions[nameOf(file)] = { ...top, title: nameOf(file) };
  }
  return definitions;
}

/** Without `_meta`, which anything may have and we never say. */
function said(properties) {
  return Object.entries(properties).filter(([name]) => name !== "_meta");
}

/** Removes titles of properties, which would become types of their own, and points at the gathered definitions. */
function plain(value, isProperty = false) {
  if (Array.isArray(value)) return value.map((each) => plain(each));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(
    ([key, each]) => !(isProperty && key === "title") && !(key === "minItems" && each === 1),
  );
  return Object.fromEntries(
    entries.map(([key, each]) => {
      if (key === "$ref") return [key, each.replace("#/$defs/", "#/definitions/")];
      if (key === "prefixItems") return ["items", plain(each)];
      if (key === "properties") return [key, Object.fromEntries(said(each).map(([n, p]) => [n, plain(p, true)]))];
      return [key, plain(each)];
    }),
  );
}

async function typesOf(part) {
  const definitions = plain(await gather(new URL(`../../docs/schemas/${part}/`, import.meta.url)));
  const all = { title: "Everything", type: "object", definitions, additionalProperties: false };
  const written = await compile(all, "Everything", {
    bannerComment: `// Written by scripts/protocol.mjs from docs/schemas/${part}; change the daemon's shapes, and run it again.`,
    additionalProperties: false,
    unreachableDefinitions: true,
    style: { printWidth: 120 },
  });
  return written
    .replace("export interface Everything {}\n", "")
    .replace(
      / \*\n \* This interface was referenced by `Everything`'s JSON-Schema\n \* via the `definition` "\w+"\.\n/g,
      "",
    )
    .replace(
      /\/\*\*\n \* This interface was referenced by `Everything`'s JSON-Schema\n \* via the `definition` "\w+"\.\n \*\/\n/g,
      "",
    );
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
    console.error(`vscode-extension/${name} is not what docs/schemas/${source} says: run node scripts/protocol.mjs`);
    process.exitCode = 1;
  }
}

for (const part of PARTS) {
  await agree(`src/protocol/${part}.ts`, part, await typesOf(part));
}
await agree("package.json", "editor/catalogue.json", await manifestOf(new URL("../package.json", import.meta.url)));

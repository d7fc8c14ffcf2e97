// Writes src/protocol/review.ts from the JSON Schemas of docs/schemas/review; with --check, fails when it is not what they say.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const SCHEMAS = new URL("../../docs/schemas/review/", import.meta.url);
const TYPES = new URL("../src/protocol/review.ts", import.meta.url);
const BANNER = "// Written by scripts/protocol.mjs from docs/schemas/review; change the daemon's shapes, and run it again.";

/** `keep.params.json` describes `KeepParams`. */
function nameOf(file) {
  const words = file.replace(/\.json$/, "").split(".");
  return words.map((word) => word[0].toUpperCase() + word.slice(1)).join("");
}

/** One schema with a definition for each type, whichever file it stands in. */
async function gather() {
  const definitions = {};
  for (const file of (await readdir(SCHEMAS)).sort()) {
    const { $defs = {}, $schema: _, title: __, ...top } = JSON.parse(await readFile(new URL(file, SCHEMAS), "utf8"));
    Object.assign(definitions, $defs);
    if (!top.$ref) definitions[nameOf(file)] = { ...top, title: nameOf(file) };
  }
  return definitions;
}

/** Removes titles of properties, which would become types of their own, and points at the gathered definitions. */
function plain(value, isProperty = false) {
  if (Array.isArray(value)) return value.map((each) => plain(each));
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(([key, each]) => !(isProperty && key === "title") && !(key === "minItems" && each === 1));
  return Object.fromEntries(
    entries.map(([key, each]) => {
      if (key === "$ref") return [key, each.replace("#/$defs/", "#/definitions/")];
      if (key === "prefixItems") return ["items", plain(each)];
      if (key === "properties") return [key, Object.fromEntries(Object.entries(each).map(([n, p]) => [n, plain(p, true)]))];
      return [key, plain(each)];
    }),
  );
}

const definitions = plain(await gather());
const all = { title: "ReviewProtocol", type: "object", definitions, additionalProperties: false };
const written = await compile(all, "ReviewProtocol", {
  bannerComment: BANNER,
  additionalProperties: false,
  unreachableDefinitions: true,
  style: { printWidth: 120 },
});
const types = written
  .replace("export interface ReviewProtocol {}\n", "")
  .replace(/ \*\n \* This interface was referenced by `ReviewProtocol`'s JSON-Schema\n \* via the `definition` "\w+"\.\n/g, "");
if (process.argv.includes("--check")) {
  const kept = await readFile(TYPES, "utf8").catch(() => "");
  if (kept !== types) {
    console.error("src/protocol/review.ts is not what docs/schemas/review says: run node scripts/protocol.mjs");
    process.exit(1);
  }
} else {
  await writeFile(TYPES, types);
}

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface Manifest {
  enabledApiProposals?: unknown;
  version: string;
  engines: { vscode: string };
  devDependencies: Record<string, string>;
  extensionKind: string[];
  repository: { url: string };
  contributes: {
    commands: { command: string }[];
    configurationDefaults: Record<string, unknown>;
    keybindings: { command: string; key: string; mac?: string; when: string }[];
    menus: Record<string, { command: string }[]>;
  };
}

const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as Manifest;
const said = JSON.parse(readFileSync(new URL("../package.nls.json", import.meta.url), "utf8")) as Record<
  string,
  string
>;
const python = readFileSync(new URL("../../pyproject.toml", import.meta.url), "utf8");
const table = readFileSync(new URL("../src/main.ts", import.meta.url), "utf8");

/** The menus that VS Code has for everybody; all others are proposals, which no published extension may use. */
const STABLE = new Set([
  "commandPalette",
  "scm/title",
  "scm/sourceControl",
  "scm/repository",
  "scm/resourceGroup/context",
  "scm/resourceFolder/context",
  "scm/resourceState/context",
  "scm/change/title",
  "comments/commentThread/title",
  "comments/commentThread/context",
  "comments/comment/title",
  "comments/comment/context",
  "editor/title",
  "editor/title/run",
  "editor/title/context",
  "editor/context",
  "editor/lineNumber/context",
  "view/title",
  "view/item/context",
  "explorer/context",
  "terminal/context",
  "terminal/title/context",
]);

/** Windows takes Ctrl+Alt for AltGr, with which many layouts type. */
function typesOnPc(key: string): boolean {
  const held = new Set(key.split("+").slice(0, -1));
  return held.has("ctrl") === held.has("alt");
}

/** With Option alone, or with Shift, every key of a Mac types a sign. */
function typesOnMac(key: string): boolean {
  const held = new Set(key.split("+").slice(0, -1));
  return !held.has("cmd") && !held.has("ctrl");
}

/** What people read in a manifest; what a tool's schema says is for models. */
const READ = new Set([
  "aliases",
  "contents",
  "contextualTitle",
  "description",
  "displayName",
  "enumDescriptions",
  "label",
  "markdownDescription",
  "shortTitle",
  "title",
  "userDescription",
]);

/** Every text that people read, also the name of a view. */
function wordsOf(value: unknown, isRead = false): string[] {
  if (typeof value === "string") {
    return isRead ? [value] : [];
  }
  if (Array.isArray(value)) {
    return value.flatMap((each) => wordsOf(each, isRead));
  }
  if (typeof value !== "object" || value === null) {
    return [];
  }
  const isView = "contextualTitle" in value;
  return Object.entries(value).flatMap(([key, each]) =>
    key === "inputSchema" ? [] : wordsOf(each, READ.has(key) || (isView && key === "name")),
  );
}

describe("the manifest", () => {
  it("uses nothing that is only proposed", () => {
    expect(manifest.enabledApiProposals).toBeUndefined();
    expect(Object.keys(manifest.contributes.menus).filter((menu) => !STABLE.has(menu))).toEqual([]);
  });

  it("is checked against the oldest VS Code that it says it runs in", () => {
    expect(`^${manifest.devDependencies["@types/vscode"] ?? ""}`).toBe(manifest.engines.vscode);
  });

  it("names commands that there are, and no others", () => {
    const declared = manifest.contributes.commands.map((each) => each.command).sort();
    const implemented = [...table.matchAll(/^ {4}"(sould\.\w+)":/gm)].map((each) => each[1]).sort();
    expect(implemented).toEqual(declared);
    const used = [...manifest.contributes.keybindings, ...Object.values(manifest.contributes.menus).flat()];
    expect(used.map((each) => each.command).filter((command) => !declared.includes(command))).toEqual([]);
  });

  it("takes keys only in the text, and only where there is something to do", () => {
    for (const { when } of manifest.contributes.keybindings) {
      expect(when).toMatch(/^editorTextFocus && sould\./);
    }
  });

  it("has no key that types a letter on any layout", () => {
    for (const { key, mac } of manifest.contributes.keybindings) {
      expect([key, typesOnPc(key)]).toEqual([key, false]);
      expect([mac, typesOnMac(mac ?? key)]).toEqual([mac, false]);
    }
  });

  it("sets nothing that is other extensions', too", () => {
    expect(Object.keys(manifest.contributes.configurationDefaults)).toEqual(["[sould-request]"]);
  });

  it("has no text that cannot be translated", () => {
    const words = wordsOf(manifest).filter((each) => each !== "sould");
    const keys = words.map((each) => /^%([\w.]+)%$/.exec(each)?.[1] ?? each);
    expect([...new Set(keys)].sort()).toEqual(Object.keys(said).sort());
  });

  it("says where its source is", () => {
    expect(manifest.repository.url).toMatch(/^https:\/\/.+\.git$/);
  });

  it("runs where the files are, and has the version of sould", () => {
    expect(manifest.extensionKind).toEqual(["workspace"]);
    expect(/^version = "(.*)"$/m.exec(python)?.[1]).toBe(manifest.version);
  });
});

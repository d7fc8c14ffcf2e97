/** Whether what people read can be translated: read from the sources, as those who collect the texts do. */
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Properties, attributes and arguments that are shown as they are. */
const SHOWN = new Set([
  "alt",
  "aria-label",
  "description",
  "detail",
  "does",
  "hint",
  "label",
  "openLabel",
  "placeHolder",
  "placeholder",
  "prompt",
  "said",
  "title",
  "tooltip",
]);
const SAYING = /(^|\.)#?(say|lens|setStatusBarMessage|show(Error|Warning|Information)Message|unlinked)$/;
/** Names and examples, and what programs and models are told. What stands in `code` and `kbd` stays, too. */
const SAME = new Set([
  "sould",
  "sould panel",
  "https://api.example.com/v1",
  "A component stands outside of App.",
  "This editor has no method",
  "The user does not offer this tool: the setting  is another one now.",
  "The user does not trust this workspace.",
  "No folder is open in this window.",
]);
/** What models are told stands here, too. */
const FOR_MODELS = /src\/tools\/(?!ask|lend|offer|review|terminals|tour)|src\/protocol/;

function sources(folder: string): ts.SourceFile[] {
  return readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name}`)
    .filter((name) => /\.tsx?$/.test(name) && !FOR_MODELS.test(name))
    .map((name) => ts.createSourceFile(name, readFileSync(`${ROOT}/${name}`, "utf8"), ts.ScriptTarget.Latest, true));
}

function below(node: ts.Node): ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (each: ts.Node): void => {
    found.push(each);
    ts.forEachChild(each, visit);
  };
  visit(node);
  return found;
}

function isTranslating(node: ts.Node): node is ts.CallExpression {
  return ts.isCallExpression(node) && /(^|\.)l10n\.t$/.test(node.expression.getText());
}

/** The words in what is shown: of both sides of a choice, and around what is filled in. */
function wordsIn(shown: ts.Node): string[] {
  if (ts.isConditionalExpression(shown)) {
    return [...wordsIn(shown.whenTrue), ...wordsIn(shown.whenFalse)];
  }
  if (ts.isParenthesizedExpression(shown) || ts.isJsxExpression(shown)) {
    return shown.expression === undefined ? [] : wordsIn(shown.expression);
  }
  if (ts.isTemplateExpression(shown)) {
    return [shown.head.text, ...shown.templateSpans.map((each) => each.literal.text)];
  }
  return ts.isStringLiteralLike(shown) ? [shown.text] : [];
}

function shownBy(node: ts.Node): ts.Node[] {
  if (ts.isPropertyAssignment(node) || ts.isJsxAttribute(node)) {
    return SHOWN.has(node.name.getText()) && node.initializer !== undefined ? [node.initializer] : [];
  }
  if (ts.isNewExpression(node)) {
    return node.expression.getText() === "Error" ? [...(node.arguments ?? [])] : [];
  }
  return ts.isCallExpression(node) && SAYING.test(node.expression.getText()) ? [...node.arguments] : [];
}

function untranslated(nodes: readonly ts.Node[]): string[] {
  const texts = nodes.flatMap((node) => {
    if (ts.isJsxText(node)) {
      const tag = ts.isJsxElement(node.parent) ? node.parent.openingElement.tagName.getText() : "";
      return ["code", "kbd"].includes(tag) ? [] : [node.text];
    }
    return shownBy(node).flatMap(wordsIn);
  });
  // An icon is no word, nor is a command that is linked to or its name.
  const words = texts.map((each) => each.replace(/\$\([\w~-]+\)|command:[\w.]*|sould\.\w+/g, "").trim());
  return words.filter((each) => /\p{L}{2}/u.test(each) && !SAME.has(each.replace(/:$/, "")));
}

describe.each(["src", "panel"])("a text of %s that people read", (folder) => {
  const files = sources(folder).map((file) => ({ name: file.fileName, nodes: below(file) }));

  it("is found by those who translate", () => {
    const calls = files.flatMap((file) => file.nodes).filter(isTranslating);
    expect(calls.length).toBeGreaterThan(100);
    const put = calls.filter(({ arguments: [text] }) => text === undefined || !ts.isStringLiteralLike(text));
    // The page's frame has texts of the composer.
    expect(put.map((each) => each.getText())).toEqual(folder === "src" ? ["l10n.t(english)"] : []);
  });

  it("is never said past the translation", () => {
    const found = files.map(({ name, nodes }) => [name, untranslated(nodes)] as const);
    expect(found.filter(([, words]) => words.length > 0)).toEqual([]);
  });
});

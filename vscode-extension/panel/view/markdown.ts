/**
 * Markdown as HTML, a block at a time: while a message streams, only its last block is read and drawn anew.
 *
 * What models write is hostile: HTML in it is text, links lead to the web or to files of the project, and no picture is loaded.
 */
import "../words";
import * as l10n from "@vscode/l10n";
import hljs from "highlight.js/lib/core";
import MarkdownIt, { type Token } from "markdown-it";
import { LANGUAGES } from "./languages";

LANGUAGES.forEach(([name, language]) => {
  hljs.registerLanguage(name, language);
});

/** Characters of code that are coloured; more would take longer than a frame. */
const MOST_COLOURED = 30_000;
const WEB = /^(https?:|mailto:)/i;

const markdown = new MarkdownIt({
  html: false,
  linkify: true,
  breaks: false,
  highlight: (code, language) => coloured(code, language),
});
const { escapeHtml } = markdown.utils;

function coloured(code: string, language: string): string {
  return code.length <= MOST_COLOURED && hljs.getLanguage(language) !== undefined
    ? hljs.highlight(code, { language, ignoreIllegals: true }).value
    : "";
}

function codeBlock(code: string, language: string): string {
  const text = code.replace(/\n$/, "");
  const words = escapeHtml(language);
  const label = language === "" ? l10n.t("code") : language;
  const button = (does: string, name: string, named: string): string =>
    `<button type="button" data-do="${does}" aria-label="${escapeHtml(named)}">${escapeHtml(name)}</button>`;
  return (
    `<div class="code"><div class="code-bar"><span>${words}</span><span class="code-do">${button("copy", l10n.t("Copy"), l10n.t("Copy {0}", label))}${button("insert", l10n.t("Insert"), l10n.t("Insert {0}", label))}${button("apply", l10n.t("Apply"), l10n.t("Apply {0}", label))}</span></div>` +
    `<pre tabindex="0" dir="ltr"><code>${coloured(text, language) || escapeHtml(text)}</code></pre></div>`
  );
}

const { rules } = markdown.renderer;
rules["fence"] = (tokens, at) =>
  codeBlock(tokens[at]?.content ?? "", (tokens[at]?.info ?? "").trim().split(/\s+/)[0] ?? "");
rules["code_block"] = (tokens, at) => codeBlock(tokens[at]?.content ?? "", "");
rules["table_open"] = () => '<div class="table" tabindex="0"><table>';
rules["table_close"] = () => "</table></div>";
rules["link_open"] = (tokens, at) => {
  const address = attribute(tokens[at], "href");
  return WEB.test(address)
    ? `<a href="${escapeHtml(address)}" target="_blank" rel="noreferrer">`
    : `<a href="#" data-file="${escapeHtml(decoded(address))}">`;
};
rules["image"] = (tokens, at) => {
  const [address, words] = [attribute(tokens[at], "src"), tokens[at]?.content ?? ""];
  const shown = escapeHtml(words || address);
  return WEB.test(address) ? `<a href="${escapeHtml(address)}" target="_blank" rel="noreferrer">${shown}</a>` : shown;
};

function attribute(token: Token | undefined, name: string): string {
  return String(token?.attrGet(name) ?? "");
}

function decoded(address: string): string {
  try {
    return decodeURIComponent(address.replace(/^file:\/\//, ""));
  } catch {
    return address;
  }
}

export interface Part {
  readonly source: string;
  readonly html: string;
}

/** The blocks of a text. `before`: those of the text that it begins with, of which all but the last are taken over. */
export function partsOf(source: string, before: readonly Part[]): readonly Part[] {
  const kept: Part[] = [];
  let length = 0;
  for (const part of before.slice(0, -1)) {
    if (!source.startsWith(part.source, length)) {
      break;
    }
    kept.push(part);
    length += part.source.length;
  }
  return [...kept, ...split(source.slice(length))];
}

function split(source: string): Part[] {
  const environment = {};
  const tokens = markdown.parse(source, environment);
  const lines = lineStarts(source);
  const parts: Part[] = [];
  let [begin, from] = [0, 0];
  tokens.forEach((token, at) => {
    if (token.level === 0 && token.nesting !== 1) {
      const next = tokens[at + 1]?.map?.[0];
      const end = next === undefined ? source.length : (lines[next] ?? source.length);
      parts.push({ source: source.slice(from, end), html: rendered(tokens.slice(begin, at + 1), environment) });
      [begin, from] = [at + 1, end];
    }
  });
  return parts;
}

function rendered(tokens: Token[], environment: Record<string, unknown>): string {
  return markdown.renderer.render(tokens, markdown.options, environment);
}

function lineStarts(source: string): readonly number[] {
  const starts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1)) {
    starts.push(at + 1);
  }
  return starts;
}

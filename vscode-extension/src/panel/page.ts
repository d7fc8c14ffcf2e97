/** The page of a panel: its frame, the app's files and nothing else. It may load nothing from anywhere, and talk to nobody but this window. */
import { randomBytes } from "node:crypto";
import { l10n } from "vscode";
import { frame } from "../../panel/frame";

interface PageParts {
  /** Where VS Code serves the extension's files from, as a policy names it. */
  readonly source: string;
  readonly script: string;
  readonly style: string;
  /** What VS Code's words are in, and what ours are in that language; undefined where there is no translation. */
  readonly language: string;
  readonly bundle: Readonly<Record<string, string>> | undefined;
}

/** Its HTML, with a nonce that is used once. */
export function page(parts: PageParts): string {
  const nonce = randomBytes(18).toString("base64url");
  const policy = [
    "default-src 'none'",
    `img-src ${parts.source} data: blob:`,
    `font-src ${parts.source}`,
    `style-src ${parts.source}`,
    `script-src 'nonce-${nonce}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="${parts.bundle === undefined ? "en" : escape(parts.language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${escape(parts.style)}">
<script type="module" nonce="${nonce}" src="${escape(parts.script)}"></script>
${translations(parts.bundle)}<title>sould</title>
</head>
<body>
<div id="panel">${frame((english) => escape(l10n.t(english)))}</div>
</body>
</html>
`;
}

/** As data, which no page runs: `panel/words.ts` reads it. */
function translations(bundle: PageParts["bundle"]): string {
  return bundle === undefined
    ? ""
    : `<script type="application/json" id="l10n">${JSON.stringify(bundle).replaceAll("<", "\\u003c")}</script>\n`;
}

function escape(text: string): string {
  return text.replace(/[&"<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** The page of a panel: its frame, the app's files and nothing else. It may load nothing from anywhere, and talk to nobody but this window. */
import { randomBytes } from "node:crypto";
import { FRAME } from "../../panel/frame";

interface PageParts {
  /** Where VS Code serves the extension's files from, as a policy names it. */
  readonly source: string;
  readonly script: string;
  readonly style: string;
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
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${escape(parts.style)}">
<script type="module" nonce="${nonce}" src="${escape(parts.script)}"></script>
<title>sould</title>
</head>
<body>
<div id="panel">${FRAME}</div>
</body>
</html>
`;
}

function escape(text: string): string {
  return text.replace(/[&"<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}

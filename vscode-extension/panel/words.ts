/** The words of the page in the language of its window, where there is a translation. To be read before all that has words. */
import * as l10n from "@vscode/l10n";

/** What the page has of them: by the English text, as VS Code gave them to the extension. */
const given = typeof document === "undefined" ? null : document.getElementById("l10n");
if (given !== null) {
  l10n.config({ contents: given.textContent });
}

import { expect, it } from "vitest";
import { page } from "../src/panel/page";

const PARTS = { source: "https://files", script: "panel.js", style: "panel.css", language: "de" };

it("a page is in English where its window's language has no translation", () => {
  const html = page({ ...PARTS, bundle: undefined });
  expect(html).toContain('<html lang="en">');
  expect(html).not.toContain('id="l10n"');
});

it("a page has the translation of its window's language, whatever is in it", () => {
  const html = page({ ...PARTS, bundle: { Stop: "</script><b>Halt" } });
  expect(html).toContain('<html lang="de">');
  const [, data = ""] = /<script type="application\/json" id="l10n">(.*?)<\/script>/.exec(html) ?? [];
  expect(JSON.parse(data)).toEqual({ Stop: "</script><b>Halt" });
});

// Bundles the extension into dist/main.cjs, and the panel's page into dist/panel.js, dist/panel-markdown.js (read when the page stands)
// and dist/panel.css: few files are read faster than many.
import path from "node:path";
import { build } from "esbuild";

const common = { bundle: true, minify: true, legalComments: "none", logLevel: "warning" };
const page = {
  ...common,
  platform: "browser",
  target: "chrome132",
  format: "esm",
  tsconfig: "panel/tsconfig.json",
  define: { "process.env.NODE_ENV": '"production"' },
};

/** What is imported later is a file beside, which shares nothing with the first: esbuild's own splitting makes a chain of three. */
const later = {
  name: "later",
  setup({ onResolve }) {
    onResolve({ filter: /./ }, (asked) =>
      asked.kind === "dynamic-import" ? { path: `./panel-${path.basename(asked.path)}.js`, external: true } : undefined,
    );
  },
};

await Promise.all([
  build({
    ...common,
    entryPoints: ["src/main.ts"],
    outfile: "dist/main.cjs",
    platform: "node",
    target: "node20",
    format: "cjs",
    external: ["vscode"],
  }),
  build({ ...page, entryPoints: ["panel/main.tsx"], outfile: "dist/panel.js", plugins: [later] }),
  build({ ...page, entryPoints: ["panel/view/markdown.ts"], outfile: "dist/panel-markdown.js" }),
  build({ ...common, entryPoints: ["panel/style/panel.css"], outfile: "dist/panel.css" }),
]);

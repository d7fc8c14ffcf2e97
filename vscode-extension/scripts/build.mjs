// Bundles the extension into dist/main.cjs, and the panel's page into dist/panel.js and dist/panel.css: few files are read faster than many.
import { build } from "esbuild";

const common = { bundle: true, minify: true, legalComments: "none", logLevel: "warning" };

await Promise.all([
  build({ ...common, entryPoints: ["src/main.ts"], outfile: "dist/main.cjs", platform: "node", target: "node20", format: "cjs", external: ["vscode"] }),
  build({
    ...common,
    entryPoints: ["panel/main.tsx"],
    outfile: "dist/panel.js",
    platform: "browser",
    target: "chrome132",
    format: "iife",
    tsconfig: "panel/tsconfig.json",
    define: { "process.env.NODE_ENV": '"production"' },
  }),
  build({ ...common, entryPoints: ["panel/style/panel.css"], outfile: "dist/panel.css" }),
]);

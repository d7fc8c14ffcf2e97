// Bundles the extension into dist/main.cjs: one file, which is read faster than many.
import { build } from "esbuild";

await build({
  entryPoints: ["src/main.ts"],
  outfile: "dist/main.cjs",
  bundle: true,
  minify: true,
  platform: "node",
  target: "node20", // that of the oldest VS Code supported
  format: "cjs",
  external: ["vscode"],
  legalComments: "none",
  logLevel: "warning",
});

import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Host code finds a `vscode` of our own, written by hand: test/fake/vscode.ts.
const vscode = fileURLToPath(new URL("test/fake/vscode.ts", import.meta.url));

export default defineConfig({
  resolve: { alias: { vscode } },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});

// The rules of the extension, beside those of the types. The two of the house: pure modules know nothing of `vscode` but its words, and nothing takes the
// focus from where the user types but `editor/reveal.ts`, which is called for what the user has just asked for.
import tseslint from "typescript-eslint";

const focus = [
  {
    selector: "MemberExpression[property.name=/^(showTextDocument|showNotebookDocument|focus)$/]",
    message: "this takes the focus from where the user types: editor/reveal.ts is the one place that may",
  },
  {
    selector: "Literal[value=/\\.focus$|^workbench\\.view\\.|^workbench\\.action\\.focus/]",
    message: "this command takes the focus from where the user types",
  },
  {
    selector: "ObjectExpression > Property[key.name='modal'][value.value=true]",
    message: "a modal dialog takes the focus from where the user types",
  },
];

export default tseslint.config(
  {
    ignores: [
      "dist",
      "src/protocol/review.ts",
      "src/protocol/inbox.ts",
      "src/protocol/editor.ts",
      "src/protocol/session.ts",
      "*.mjs",
      "scripts",
      "node_modules",
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "no-restricted-syntax": ["error", ...focus],
      "max-lines": ["error", 430],
      "max-lines-per-function": ["error", 90],
      eqeqeq: "error",
      "@typescript-eslint/explicit-module-boundary-types": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }], // { gone: _, ...rest } leaves something out
    },
  },
  // Prettier gives each attribute of an element its own line.
  { files: ["panel/view/*.tsx"], rules: { "max-lines-per-function": ["error", 130] } },
  // The panel moves the focus within itself only: a page cannot take it from elsewhere.
  { files: ["src/editor/reveal.ts", "panel/**"], rules: { "no-restricted-syntax": "off" } },
  {
    files: [
      "src/review/**",
      "src/inbox/**",
      "src/protocol/**",
      "src/connection/program.ts",
      "src/panel/{messages,router,page,search}.ts",
    ],
    rules: {
      // Of `vscode` only the words of the user's language.
      "no-restricted-imports": [
        "error",
        { paths: [{ name: "vscode", allowImportNames: ["l10n"] }], patterns: ["../editor/*"] },
      ],
    },
  },
  {
    files: ["panel/session/**"],
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: ["preact", "preact/*", "@preact/*", "../view/*", "../app/*", "../links/*"] },
      ],
    },
  },
  { files: ["test/**"], rules: { "max-lines-per-function": "off", "no-restricted-syntax": "off" } },
  // What stands for VS Code's classes there is none of them.
  { files: ["test/fake/**"], rules: { "@typescript-eslint/no-unsafe-class-instance-assignment": "off" } },
);

// vscode-languageclient, the library of VS Code's extensions, before one document: vscode_editor.cjs FILE COMMAND ARGUMENTS...
// Takes one JSON request a line, {"op", "given"}, and answers each with one line, {"result"} or {"error"}.
'use strict';
const Module = require('node:module');
const path = require('node:path');
const readline = require('node:readline');
const vscode = require('./vscode_api.cjs');

const load = Module._load;
Module._load = (name, ...rest) => (name === 'vscode' ? vscode.api : load(name, ...rest));
const { LanguageClient } = require('vscode-languageclient/node');

const [file, command, ...args] = process.argv.slice(2);
const { api, registered, asked } = vscode;
const document = new vscode.TextDocument(file, 'python');
const folder = { uri: api.Uri.file(path.dirname(file)), name: 'project', index: 0 };
api.workspace.workspaceFolders = [folder];
api.workspace.textDocuments.push(document);
api.window.activeTextEditor = { document };
const client = new LanguageClient('sould', 'sould', { command, args }, { documentSelector: [{ scheme: 'file' }] });
let line = 0;

const token = new api.CancellationTokenSource().token;
const here = () => new vscode.Range(line, 0, line, 0);
const provided = async (providers, ask) => (await Promise.all(providers.map(ask))).flat().filter(Boolean);
const actions = () => provided(registered.codeActions, (each) => (
  each.provideCodeActions(document, here(), { diagnostics: [], triggerKind: 1 }, token)));
const lenses = () => provided(registered.codeLens, (each) => each.provideCodeLenses(document, token));
const titled = (all, title) => all.find((each) => each.title.startsWith(title));

const operations = {
  ready: () => client.start(),
  buffer: () => { document.renew(); return document.getText(); },
  unsaved: () => document.isDirty,
  go: (given) => { line = given - 1; },
  append: (text) => {
    const end = new vscode.Position(line, document.lineAt(line).text.length);
    document.apply([new api.TextEdit(new vscode.Range(end, end), text)]);
  },
  undo: () => document.undo(),
  save: () => document.save(),
  trim: () => { // as an editor does that formats before it saves
    const text = document.getText();
    const trimmed = text.replace(/[ \t]+$/gm, '');
    if (trimmed !== text) document.apply([new api.TextEdit(new vscode.Range(new vscode.Position(0, 0), document.positionAt(text.length)), trimmed)]);
  },
  lenses: async () => (await lenses()).map((each) => each.command.title),
  offered: async () => (await actions()).map((each) => each.title),
  act: async (title) => { // its effect comes later: the user may be asked meanwhile
    const action = titled(await actions(), title);
    if (!action) return false;
    if (action.edit) await api.workspace.applyEdit(action.edit);
    const run = action.command?.command ? action.command : action;
    if (typeof run.command === 'string') api.commands.executeCommand(run.command, ...(run.arguments ?? [])).catch(() => {});
    return true;
  },
  choose: (title) => {
    const question = asked[0];
    const item = question && titled(question.items.map((each) => (typeof each === 'string' ? { title: each } : each)), title);
    if (!item) return false;
    asked.shift().answer(question.items.find((each) => (each.title ?? each) === item.title));
    return true;
  },
};

// A server that is gone is the test's business, not this process's.
process.on('unhandledRejection', () => {});
(async () => {
  for await (const text of readline.createInterface({ input: process.stdin })) {
    const { op, given } = JSON.parse(text);
    let answer;
    try {
      answer = { result: (await operations[op](given)) ?? null };
    } catch (error) {
      answer = { error: String(error?.stack ?? error) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  await client.stop().catch(() => {});
  process.exit(0);
})();

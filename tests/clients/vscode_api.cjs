// As much of VS Code's extension API as vscode-languageclient needs to serve one document: real types where their behaviour
// matters (documents, edits, events, commands, questions), empty ones for the rest. No window, no workbench.
'use strict';
const fs = require('node:fs');
const { URI } = require('vscode-uri');

class Disposable {
  constructor(dispose) { this.dispose = dispose ?? (() => {}); }
  static from(...all) { return new Disposable(() => all.forEach((each) => each.dispose())); }
}

class EventEmitter {
  #listeners = new Set();
  event = (listener, self, disposables) => {
    const bound = self ? listener.bind(self) : listener;
    this.#listeners.add(bound);
    const end = new Disposable(() => this.#listeners.delete(bound));
    disposables?.push(end);
    return end;
  };
  fire(value) { for (const each of [...this.#listeners]) each(value); }
  dispose() { this.#listeners.clear(); }
}

class CancellationTokenSource {
  #ended = new EventEmitter();
  token = { isCancellationRequested: false, onCancellationRequested: this.#ended.event };
  cancel() { this.token.isCancellationRequested = true; this.#ended.fire(); }
  dispose() {}
}

class Position {
  constructor(line, character) { this.line = line; this.character = character; }
}

class Range {
  constructor(a, b, c, d) {
    [this.start, this.end] = c === undefined ? [a, b] : [new Position(a, b), new Position(c, d)];
  }
}

class WorkspaceEdit {
  #edits = new Map();
  set(uri, edits) { this.#edits.set(uri.toString(), edits.map((each) => (Array.isArray(each) ? each[0] : each))); }
  replace(uri, range, text) { this.#edits.set(uri.toString(), [...(this.#edits.get(uri.toString()) ?? []), new TextEdit(range, text)]); }
  insert(uri, at, text) { this.replace(uri, new Range(at, at), text); }
  delete(uri, range) { this.replace(uri, range, ''); }
  entries() { return [...this.#edits]; }
}

class TextEdit {
  constructor(range, newText) { this.range = range; this.newText = newText; }
}

const plain = (...names) => class { constructor(...values) { names.forEach((name, i) => { this[name] = values[i]; }); } };
const events = new Proxy({}, { get: (known, name) => (known[name] ??= new EventEmitter()) });
const unknown = (name) => (/^on[A-Z]/.test(name) ? events[name].event : /^register/.test(name) ? () => new Disposable() : undefined);
const open = (known) => new Proxy(known, { get: (all, name) => (name in all ? all[name] : unknown(String(name))) });

// A document as the user edits it; every change is one step for undo.
class TextDocument {
  constructor(file, languageId) {
    Object.assign(this, { uri: URI.file(file), fileName: file, languageId, version: 1, isClosed: false, isUntitled: false, eol: 1 });
    this.saved = this.text = fs.readFileSync(file, 'utf8');
    this.steps = [];
  }
  get isDirty() { return this.text !== this.saved; }
  get lineCount() { return this.text.split('\n').length; }
  getText() { return this.text; }
  lineAt(line) { return { text: this.text.split('\n')[line] }; }
  offsetAt(at) {
    const before = this.text.split('\n').slice(0, at.line);
    return Math.min(this.text.length, before.join('\n').length + (before.length ? 1 : 0) + at.character);
  }
  positionAt(offset) {
    const before = this.text.slice(0, offset).split('\n');
    return new Position(before.length - 1, before.at(-1).length);
  }
  apply(edits) {
    const placed = edits.map((each) => [this.offsetAt(each.range.start), this.offsetAt(each.range.end), each]);
    placed.sort((a, b) => b[0] - a[0]);
    const changes = placed.map(([from, to, each]) => (
      { range: each.range, rangeOffset: from, rangeLength: to - from, text: each.newText }));
    this.steps.push(this.text);
    for (const [from, to, each] of placed) this.text = this.text.slice(0, from) + each.newText + this.text.slice(to);
    this.#changed(changes);
  }
  become(text) {
    const range = new Range(new Position(0, 0), this.positionAt(this.text.length));
    const change = { range, rangeOffset: 0, rangeLength: this.text.length, text };
    this.text = text;
    this.#changed([change]);
  }
  undo() { if (this.steps.length) this.become(this.steps.pop()); }
  save() {
    fs.writeFileSync(this.fileName, this.text);
    this.saved = this.text;
    events.onDidSaveTextDocument.fire(this);
  }
  renew() { // a clean document follows its file
    const disk = fs.readFileSync(this.fileName, 'utf8');
    if (this.isDirty || disk === this.text) return;
    this.saved = disk;
    this.become(disk);
  }
  #changed(contentChanges) {
    this.version += 1;
    events.onDidChangeTextDocument.fire({ document: this, contentChanges });
  }
}

// What the client registered, and what the user is asked now.
const registered = { codeLens: [], codeActions: [], commands: new Map() };
const asked = [];
const ask = (message, ...rest) => {
  const items = rest.filter((each) => each && typeof each === 'object' ? 'title' in each : true);
  if (!items.length) return Promise.resolve(undefined);
  return new Promise((answer) => { asked.push({ message, items, answer }); });
};

const workspace = open({
  textDocuments: [],
  workspaceFolders: undefined,
  getConfiguration: () => ({ get: (_name, value) => value, has: () => false, inspect: () => undefined }),
  createFileSystemWatcher: () => open({ dispose() {} }),
  async applyEdit(edit) {
    for (const [uri, edits] of edit.entries()) {
      const document = workspace.textDocuments.find((each) => each.uri.toString() === uri);
      if (!document) return false;
      document.apply(edits);
    }
    return true;
  },
});

const window = open({
  activeTextEditor: undefined,
  visibleTextEditors: [],
  tabGroups: open({ all: [] }),
  showInformationMessage: ask,
  showWarningMessage: ask,
  showErrorMessage: ask,
  showTextDocument: async () => undefined,
  withProgress: (_options, task) => task({ report() {} }, new CancellationTokenSource().token),
  createOutputChannel: () => ({ append() {}, appendLine() {}, clear() {}, show() {}, hide() {}, replace() {}, dispose() {} }),
});

const languages = open({
  match: () => 1,
  createDiagnosticCollection: () => ({ set() {}, delete() {}, clear() {}, dispose() {} }),
  registerCodeLensProvider(_selector, provider) { registered.codeLens.push(provider); return new Disposable(); },
  registerCodeActionsProvider(_selector, provider) { registered.codeActions.push(provider); return new Disposable(); },
});

const commands = {
  registerCommand(name, run) {
    registered.commands.set(name, run);
    return new Disposable(() => registered.commands.delete(name));
  },
  executeCommand: (name, ...values) => registered.commands.get(name)(...values),
};

class CodeActionKind {
  static QuickFix = new CodeActionKind('quickfix');
  static Empty = new CodeActionKind('');
  constructor(value) { this.value = value; }
  append(part) { return new CodeActionKind(this.value ? `${this.value}.${part}` : part); }
}
for (const name of ['Refactor', 'RefactorExtract', 'RefactorInline', 'RefactorRewrite', 'Source', 'SourceOrganizeImports', 'SourceFixAll']) {
  CodeActionKind[name] = new CodeActionKind(name.replace(/(?!^)([A-Z])/, '.$1').replace(/^./, (each) => each.toLowerCase()));
}

const known = {
  version: '1.100.0', env: { language: 'en', appName: 'rig', openExternal: async () => false },
  Uri: URI, Disposable, EventEmitter, CancellationTokenSource, CancellationError: class extends Error {},
  Position, Range, WorkspaceEdit, TextEdit, CodeActionKind,
  CodeLens: plain('range', 'command'), CodeAction: plain('title', 'kind'), Diagnostic: plain('range', 'message', 'severity'),
  MarkdownString: plain('value'), workspace, window, languages, commands,
};
// Enumerations and types that nobody looks into here.
const api = new Proxy(known, { get: (all, name) => (name in all || typeof name === 'symbol' ? all[name] : (all[name] = class {})) });
module.exports = { api, TextDocument, registered, asked, events, Position, Range };

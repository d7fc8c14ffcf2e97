"""An extension of somebody else's: it does what VS Code's own agents do, and has a kernel for notebooks.

`sould-test: Call` calls a tool of VS Code's by name: it reads `call.json` of the user's home, `{"tool", "input"}`, and writes
`called.json`: the names of all `tools`, and the `text` or the `error`. The kernel takes every cell for JavaScript; `print` prints, and
`picture()` is one.
"""

import json
import zipfile
from pathlib import Path
from typing import Final

MANIFEST: Final = {
    "name": "sould-test",
    "publisher": "sould-test",
    "version": "0.0.1",
    "engines": {"vscode": "^1.106.0"},
    "main": "./main.js",
    "extensionKind": ["workspace"],
    "activationEvents": ["onNotebook:jupyter-notebook"],
    "contributes": {"commands": [{"command": "sould-test.call", "title": "Call", "category": "sould-test"}]},
}

MAIN: Final = """
const vscode = require("vscode");
const { readFileSync, writeFileSync, renameSync } = require("node:fs");
const vm = require("node:vm");

const PICTURE = new Uint8Array([137, 80, 78, 71]);

async function called({ tool, input }) {
  try {
    const result = await vscode.lm.invokeTool(tool, { input, toolInvocationToken: undefined });
    return { text: result.content.map((part) => part.value).join("") };
  } catch (problem) {
    return { error: String(problem.message) };
  }
}

function kernel() {
  const made = vscode.notebooks.createNotebookController("sould-test", "jupyter-notebook", "sould-test");
  const context = vm.createContext({ picture: () => PICTURE });
  const run = async (cell) => {
    const execution = made.createNotebookCellExecution(cell);
    execution.executionOrder = (count += 1);
    execution.start(Date.now());
    const shown = [];
    context.print = (text) => shown.push(vscode.NotebookCellOutputItem.stdout(`${text}\n`));
    let done = true;
    try {
      const value = vm.runInContext(cell.document.getText(), context);
      const text = vscode.NotebookCellOutputItem.text(String(value));
      shown.push(value === PICTURE ? new vscode.NotebookCellOutputItem(PICTURE, "image/png") : text);
    } catch (problem) {
      done = false;
      shown.push(vscode.NotebookCellOutputItem.error(problem));
    }
    await execution.replaceOutput(shown.map((item) => new vscode.NotebookCellOutput([item])));
    execution.end(done, Date.now());
  };
  let count = 0;
  made.supportsExecutionOrder = true;
  made.executeHandler = async (cells) => {
    for (const cell of cells) {
      await run(cell);
    }
  };
  return made;
}

exports.activate = (context) => {
  context.subscriptions.push(kernel());
  context.subscriptions.push(vscode.commands.registerCommand("sould-test.call", async () => {
    const home = process.env.HOME;
    const answer = await called(JSON.parse(readFileSync(`${home}/call.json`, "utf8")));
    const tools = vscode.lm.tools.map((each) => each.name);
    writeFileSync(`${home}/called.tmp`, JSON.stringify({ tools, ...answer }));
    renameSync(`${home}/called.tmp`, `${home}/called.json`);
  }));
};
"""

VSIX_MANIFEST: Final = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="sould-test" Version="0.0.1" Publisher="sould-test" />
    <DisplayName>sould-test</DisplayName>
    <Description>For tests</Description>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code" /></Installation>
  <Dependencies />
  <Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true" /></Assets>
</PackageManifest>
"""

CONTENT_TYPES: Final = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".json" ContentType="application/json" />
  <Default Extension=".js" ContentType="application/javascript" />
  <Default Extension=".vsixmanifest" ContentType="text/xml" />
</Types>
"""


def package(into: Path) -> Path:
    """The extension as a .vsix."""
    made = into / "sould-test.vsix"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("extension.vsixmanifest", VSIX_MANIFEST)
        archive.writestr("[Content_Types].xml", CONTENT_TYPES)
        archive.writestr("extension/package.json", json.dumps(MANIFEST))
        archive.writestr("extension/main.js", MAIN)
    return made

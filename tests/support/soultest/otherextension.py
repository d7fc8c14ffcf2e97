"""An extension of somebody else's, for what VS Code's own agents do: it calls a tool of VS Code's by name, and writes down what came.

`sould-test: Call` reads `call.json` of the user's home, `{"tool", "input"}`, and writes `called.json`: the names of all `tools`, and
the `text` or the `error`.
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
    "activationEvents": [],
    "contributes": {"commands": [{"command": "sould-test.call", "title": "Call", "category": "sould-test"}]},
}

MAIN: Final = """
const vscode = require("vscode");
const { readFileSync, writeFileSync, renameSync } = require("node:fs");

async function called({ tool, input }) {
  try {
    const result = await vscode.lm.invokeTool(tool, { input, toolInvocationToken: undefined });
    return { text: result.content.map((part) => part.value).join("") };
  } catch (problem) {
    return { error: String(problem.message) };
  }
}

exports.activate = (context) => {
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

/** What the window knows that can be mentioned in a panel: problems and symbols. Nothing of it is sent before the user mentions it. */
import * as vscode from "vscode";
import type { FoundSymbol, Problem, SymbolSearch } from "../../panel/link";
import type { Places } from "../editor/places";

const SEVERITIES = ["error", "warning", "information", "hint"] as const;
const MOST_PROBLEMS = 500;

/** Of the files below a folder, errors first. */
export function problemsBelow(root: string, places: Places): Problem[] {
  const found = vscode.languages.getDiagnostics().flatMap(([uri, problems]) => {
    const path = places.pathOf(uri);
    return path?.startsWith(`${root}/`) === true ? problems.map((each) => problemOf(path, each)) : [];
  });
  return found
    .sort((one, other) => SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity))
    .slice(0, MOST_PROBLEMS);
}

function problemOf(path: string, found: vscode.Diagnostic): Problem {
  return {
    path,
    line: found.range.start.line + 1,
    severity: SEVERITIES[found.severity],
    message: found.message,
    source: found.source ?? "",
  };
}

/** Whatever language services find in the project. */
export async function symbolsOf({ query, limit }: SymbolSearch, places: Places): Promise<FoundSymbol[]> {
  const found = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
    "vscode.executeWorkspaceSymbolProvider",
    query,
  );
  const symbols = (found ?? []).flatMap(({ name, kind, location }) => {
    const path = places.pathOf(location.uri);
    return path === undefined
      ? []
      : [{ name, kind: vscode.SymbolKind[kind], path, line: location.range.start.line + 1 }];
  });
  return symbols.slice(0, limit);
}

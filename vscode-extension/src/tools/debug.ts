/**
 * Debugging at an agent's wish: `debug`. What runs is a launch configuration of the user's, as it stands there; what the user debugs an
 * agent may look at and step through, but not end. The user's breakpoints stay.
 */
import * as path from "node:path";
import * as vscode from "vscode";
import * as z from "zod";
import type { CallResult } from "../protocol/editor";
import { type Call, type Data, isRelated, ToolError } from "./call";
import { DebugSessions, type DebugSession } from "./debugsessions";
import { asksUser } from "./tasks";
import { until, within } from "./waiting";

/** What a debugger needs for an answer. Milliseconds. */
const PATIENCE = 10_000;
const MOST_FRAMES = 20;
const MOST_VARIABLES = 60;
const LONGEST_VARIABLE = 300;
const LONGEST_VALUE = 4_000;

const STEPS: Record<string, string> = { over: "next", into: "stepIn", out: "stepOut", continue: "continue" };

const launch = z.looseObject({ name: z.string(), type: z.string(), request: z.string() });
const debuggers = z.object({
  contributes: z.object({
    debuggers: z.array(
      z.object({ type: z.string(), configurationAttributes: z.record(z.string(), z.unknown()).default({}) }),
    ),
  }),
});
const withConsole = z.object({ properties: z.object({ console: z.unknown() }) });

const source = z.object({ path: z.string().default(""), sourceReference: z.number().default(0) });
const frames = z.object({
  stackFrames: z.array(z.object({ id: z.number(), name: z.string(), line: z.number(), source: source.optional() })),
});
const scopes = z.object({
  scopes: z.array(
    z.object({ name: z.string(), variablesReference: z.number(), expensive: z.boolean().default(false) }),
  ),
});
const variables = z.object({
  variables: z.array(z.object({ name: z.string(), value: z.string(), type: z.string().nullish() })),
});
const evaluated = z.object({ result: z.string() });

type Launch = z.infer<typeof launch>;
type Frame = z.infer<typeof frames>["stackFrames"][number];

export class Debugging implements vscode.Disposable {
  readonly #sessions = new DebugSessions();
  /** Breakpoints that agents set, by VS Code's ids. */
  readonly #set = new Set<string>();

  dispose(): void {
    this.#sessions.dispose();
  }

  async act(call: Call): Promise<CallResult> {
    switch (call.text("action")) {
      case "start":
        return await this.#start(call);
      case "stop":
        return await this.#stop(call);
      case "breakpoint":
        return await this.#breakpoint(call);
      case "step":
        return await this.#step(call);
      case "eval":
        return await this.#evaluate(call);
      default:
        return await this.#look(call);
    }
  }

  async #start(call: Call): Promise<CallResult> {
    if (this.#sessions.isStarting || this.#all(call).some((each) => each.byAgent)) {
      throw new ToolError(
        "busy",
        "A program that an agent started is being debugged already: look at its stack, or stop it.",
      );
    }
    const [folder, found] = chosen(call);
    if (asksUser(found)) {
      throw new ToolError(
        "denied",
        `The launch configuration ${found.name} asks the user something, so only the user starts it.`,
      );
    }
    const configuration = quiet(found);
    const options = { suppressDebugView: true, suppressSaveBeforeStart: true };
    const limit = seconds(call);
    const began = Date.now();
    const debugged = await this.#sessions.begin(found.name, () =>
      within(vscode.debug.startDebugging(folder, configuration, options), limit, call.signal),
    );
    if (debugged === undefined) {
      throw new ToolError("failed", `VS Code could not start ${found.name}; its user is told why.`);
    }
    try {
      return await this.#settled(debugged, Math.max(0, limit - (Date.now() - began)), call);
    } catch (problem) {
      if (call.signal.aborted) {
        void vscode.debug.stopDebugging(debugged.session);
      }
      throw problem;
    }
  }

  async #stop(call: Call): Promise<CallResult> {
    const all = this.#all(call);
    const own = all.filter((each) => each.byAgent && each.root === each);
    if (own.length === 0 && all.length > 0) {
      throw new ToolError("denied", "What the user debugs only the user ends.");
    }
    for (const each of own) {
      await within(vscode.debug.stopDebugging(each.session), PATIENCE, call.signal);
    }
    const ended = await until(
      () => own.every((each) => each.state === "ended"),
      this.#sessions.onDidChange,
      PATIENCE,
      call.signal,
    );
    if (!ended) {
      throw new ToolError("timeout", "The program has not ended yet.");
    }
    return { data: { state: "ended", output: own[0]?.output ?? "" } };
  }

  async #breakpoint(call: Call): Promise<CallResult> {
    const document = await call.document();
    const line = call.number("line", 1) - 1;
    if (line >= document.lineCount) {
      throw new ToolError("not_found", `${document.uri.fsPath} has ${document.lineCount} lines.`);
    }
    const here = vscode.debug.breakpoints.filter(
      (each) => each instanceof vscode.SourceBreakpoint && isAt(each, document.uri, line),
    );
    const own = here.filter((each) => this.#set.has(each.id));
    if (own.length < here.length) {
      throw new ToolError("denied", "The user has set a breakpoint in this line; it stays as it is.");
    }
    vscode.debug.removeBreakpoints(own);
    if (!call.flag("remove")) {
      const condition = call.text("condition");
      const at = new vscode.Location(document.uri, new vscode.Position(line, 0));
      const made = new vscode.SourceBreakpoint(at, true, ...(condition === "" ? [] : [condition]));
      vscode.debug.addBreakpoints([made]);
      this.#set.add(made.id);
    }
    const current = this.#current(call);
    return { data: { state: current?.state ?? "ended", reason: current?.reason ?? "" } };
  }

  async #step(call: Call): Promise<CallResult> {
    const debugged = this.#require(call);
    const { thread: threadId } = debugged;
    const command = STEPS[call.text("step")] ?? "next";
    debugged.goOn();
    await this.#ask(debugged, command, { threadId }, call);
    return await this.#settled(debugged.root, seconds(call), call);
  }

  async #look(call: Call): Promise<CallResult> {
    const current = this.#current(call);
    if (current === undefined) {
      return { data: { state: "ended", reason: "Nothing is being debugged" } };
    }
    return await this.#described(current, call);
  }

  async #evaluate(call: Call): Promise<CallResult> {
    const debugged = this.#require(call);
    const [frame] = await this.#frame(debugged, call);
    const given = { expression: call.text("expression"), frameId: frame.id, context: "repl" };
    const { result } = evaluated.parse(await this.#ask(debugged, "evaluate", given, call, seconds(call)));
    return { data: { state: debugged.state, reason: debugged.reason, value: clip(result, LONGEST_VALUE) } };
  }

  /** Those of the project that the call is about. */
  #all(call: Call): DebugSession[] {
    return this.#sessions.all.filter(({ root, byAgent }) => {
      const { workspaceFolder } = root.session;
      const directory = workspaceFolder && call.places.rootOf(workspaceFolder);
      return directory === undefined ? byAgent : isRelated(directory, call.root);
    });
  }

  #current(call: Call): DebugSession | undefined {
    const all = this.#all(call);
    return all.find((each) => each.state === "stopped") ?? all[0];
  }

  /** One that has stopped. Raises ToolError. */
  #require(call: Call): DebugSession {
    const current = this.#current(call);
    if (current === undefined) {
      throw new ToolError("not_found", "Nothing is being debugged in VS Code.");
    }
    if (current.state !== "stopped") {
      throw new ToolError(
        "busy",
        "The program runs; it can be looked at when it has stopped, at a breakpoint for example.",
      );
    }
    return current;
  }

  /** How a program stands when it has stopped or ended, or when the time is over. */
  async #settled(root: DebugSession, milliseconds: number, call: Call): Promise<CallResult> {
    const stopped = (): DebugSession | undefined =>
      this.#sessions.all.find((each) => each.root === root && each.state === "stopped");
    await until(
      () => root.state === "ended" || stopped() !== undefined,
      this.#sessions.onDidChange,
      milliseconds,
      call.signal,
    );
    return await this.#described(stopped() ?? root, call);
  }

  async #described(debugged: DebugSession, call: Call): Promise<CallResult> {
    const { state, root, output } = debugged;
    if (state !== "stopped") {
      const reason = state === "ended" ? root.reason : "";
      const more = state === "running" ? { more: "The program has not stopped in time, and goes on." } : {};
      return { data: { state, reason, output }, ...more };
    }
    const [asked, all] = await this.#frame(debugged, call);
    const known = await this.#variables(debugged, asked, call);
    const described = all.map((each): Data => ({
      name: each.name,
      file: fileOf(each, call),
      line: each.line,
      ...(each === asked ? { variables: known } : {}),
    }));
    return { data: { state, reason: debugged.reason, frames: described, output } };
  }

  /** The one that the call names, and all of them. */
  async #frame(debugged: DebugSession, call: Call): Promise<[Frame, Frame[]]> {
    const wanted = call.number("frame", 0);
    const given = { threadId: debugged.thread, startFrame: 0, levels: Math.max(MOST_FRAMES, wanted + 1) };
    const { stackFrames } = frames.parse(await this.#ask(debugged, "stackTrace", given, call));
    const frame = stackFrames[wanted];
    if (frame === undefined) {
      throw new ToolError("not_found", `The stack has ${stackFrames.length} frames.`);
    }
    return [frame, stackFrames];
  }

  /** Of the scopes around a place, the inner ones first; what takes a debugger long to say is left out. */
  async #variables(debugged: DebugSession, frame: Frame, call: Call): Promise<Data[]> {
    const known = new Map<string, Data>();
    for (const scope of scopes.parse(await this.#ask(debugged, "scopes", { frameId: frame.id }, call)).scopes) {
      if (scope.expensive || known.size >= MOST_VARIABLES) {
        continue;
      }
      const given = { variablesReference: scope.variablesReference };
      for (const { name, value, type } of variables.parse(await this.#ask(debugged, "variables", given, call))
        .variables) {
        if (!known.has(name) && known.size < MOST_VARIABLES) {
          known.set(name, { name, value: clip(value, LONGEST_VARIABLE), type: type ?? "" });
        }
      }
    }
    return [...known.values()];
  }

  async #ask(
    debugged: DebugSession,
    command: string,
    given: Data,
    call: Call,
    milliseconds = PATIENCE,
  ): Promise<unknown> {
    return await within<unknown>(debugged.session.customRequest(command, given), milliseconds, call.signal);
  }
}

function seconds(call: Call): number {
  return call.number("timeoutSec", 60) * 1_000;
}

function clip(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)} [...]` : text;
}

function isAt(breakpoint: vscode.SourceBreakpoint, uri: vscode.Uri, line: number): boolean {
  return breakpoint.location.uri.toString() === uri.toString() && breakpoint.location.range.start.line === line;
}

/** The launch configuration that the call names, else the first one. Raises ToolError. */
function chosen(call: Call): [vscode.WorkspaceFolder, Launch] {
  const name = call.text("configuration");
  const all = (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => isRelated(call.places.rootOf(folder) ?? "", call.root))
    .flatMap((folder) => launchesOf(folder).map((each): [vscode.WorkspaceFolder, Launch] => [folder, each]));
  const found = name === "" ? all[0] : all.find(([, each]) => each.name === name);
  if (found === undefined) {
    const names = all.map(([, each]) => each.name).slice(0, 20);
    const there =
      names.length > 0
        ? `There are: ${names.join(", ")}.`
        : "The project has none: .vscode/launch.json is where they stand.";
    throw new ToolError("not_found", `VS Code knows no launch configuration${name && ` ${name}`}. ${there}`);
  }
  return found;
}

function launchesOf(folder: vscode.WorkspaceFolder): Launch[] {
  const given: unknown = vscode.workspace.getConfiguration("launch", folder.uri).get("configurations");
  return Array.isArray(given) ? given.flatMap((each) => launch.safeParse(each).data ?? []) : [];
}

/**
 * As it is, but for what opens a view: the debug console is not shown, and a program that would run in a terminal, which VS Code then
 * goes to, prints into that console. Raises ToolError for a debugger that VS Code has not, about which it would ask the user.
 */
function quiet(configuration: Launch): vscode.DebugConfiguration {
  const all = vscode.extensions.all.flatMap(
    (each) => debuggers.safeParse(each.packageJSON).data?.contributes.debuggers ?? [],
  );
  const found = all.filter((each) => each.type === configuration.type);
  if (found.length === 0) {
    throw new ToolError("not_supported", `VS Code has no debugger for ${configuration.type}.`);
  }
  const hasConsole = found.some(
    (each) => withConsole.safeParse(each.configurationAttributes[configuration.request]).success,
  );
  return {
    ...configuration,
    internalConsoleOptions: "neverOpen",
    ...(hasConsole ? { console: "internalConsole" } : {}),
  };
}

/** "" for code that is in no file. What VS Code passes on names files by path or by address. */
function fileOf({ source: at }: Frame, call: Call): string {
  if (at === undefined || at.sourceReference !== 0) {
    return "";
  }
  if (path.isAbsolute(at.path)) {
    return call.path(vscode.Uri.file(at.path)) ?? "";
  }
  if (/^(file|vscode-remote):\/\//.test(at.path)) {
    return call.path(vscode.Uri.file(vscode.Uri.parse(at.path).path)) ?? "";
  }
  return "";
}

/** A form of an agent's, for the user: `editor_ask`. A notification says that there is one; nothing opens before they want to answer, or after the call was taken back. */
import * as vscode from "vscode";
import * as z from "zod";
import { unlinked } from "../editor/notice";
import type { CallResult } from "../protocol/editor";
import { type Call, ToolError } from "./call";

const ANSWER = vscode.l10n.t("Answer…");
const DECLINE = vscode.l10n.t("Decline");
const YES = vscode.l10n.t("Yes");

const field = z.object({
  type: z.enum(["string", "number", "integer", "boolean"]),
  title: z.string().optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  enum: z.array(z.string()).max(100).optional(),
});
const form = z.object({ properties: z.record(z.string(), field), required: z.array(z.string()).default([]) });

type Field = z.infer<typeof field>;
type Value = string | number | boolean;

export async function ask(call: Call): Promise<CallResult> {
  const asked = form.safeParse(call.object("form"));
  if (!asked.success) {
    throw new ToolError("not_supported", "VS Code shows flat forms only: strings, numbers, booleans and enums.");
  }
  const message = call.text("message");
  const answer = await vscode.window.showInformationMessage(unlinked(message), ANSWER, DECLINE);
  if (answer !== ANSWER || call.signal.aborted) {
    return { data: { action: answer === DECLINE ? "decline" : "cancel" } };
  }
  const gone = new vscode.CancellationTokenSource();
  const leave = (): void => {
    gone.cancel();
  };
  call.signal.addEventListener("abort", leave);
  try {
    return await fillIn(asked.data, message, gone.token);
  } finally {
    call.signal.removeEventListener("abort", leave);
    gone.dispose();
  }
}

async function fillIn(
  asked: z.infer<typeof form>,
  message: string,
  gone: vscode.CancellationToken,
): Promise<CallResult> {
  const content: Record<string, Value> = {};
  for (const [name, each] of Object.entries(asked.properties)) {
    const value = await askFor(name, each, message, asked.required.includes(name), gone);
    if (value === "gone") {
      return { data: { action: "cancel" } };
    }
    if (value !== undefined) {
      content[name] = value.is;
    }
  }
  return { data: { action: "accept", content } };
}

/** undefined: left out. "gone": the user went away. */
async function askFor(
  name: string,
  each: Field,
  message: string,
  required: boolean,
  gone: vscode.CancellationToken,
): Promise<{ is: Value } | "gone" | undefined> {
  const title = `${message} — ${each.title ?? name}`;
  const picks = each.type === "boolean" ? [YES, vscode.l10n.t("No")] : each.enum;
  if (picks !== undefined) {
    const options = required ? picks : [...picks, vscode.l10n.t("(leave out)")];
    const placeHolder = each.description ?? "";
    const picked = await vscode.window.showQuickPick(options, { title, placeHolder, ignoreFocusOut: true }, gone);
    if (picked === undefined) {
      return "gone";
    }
    if (!picks.includes(picked)) {
      return undefined;
    }
    return { is: each.type === "boolean" ? picked === YES : picked };
  }
  const written = await vscode.window.showInputBox(
    {
      title,
      prompt: each.description ?? "",
      value: typeof each.default === "string" || typeof each.default === "number" ? String(each.default) : "",
      ignoreFocusOut: true,
      validateInput: (text) => wrong(text, each, required),
    },
    gone,
  );
  if (written === undefined) {
    return "gone";
  }
  if (written === "" && !required) {
    return undefined;
  }
  return { is: each.type === "string" ? written : Number(written) };
}

function wrong(text: string, each: Field, required: boolean): string | undefined {
  if (text === "") {
    return required ? vscode.l10n.t("This is needed.") : undefined;
  }
  if (each.type === "string") {
    return undefined;
  }
  const number = Number(text);
  const fits = each.type === "integer" ? Number.isInteger(number) : Number.isFinite(number);
  return fits
    ? undefined
    : each.type === "integer"
      ? vscode.l10n.t("This is no whole number.")
      : vscode.l10n.t("This is no number.");
}

/** What the daemon asks the user: permissions and forms, and what is answered. Pure. */
import * as l10n from "@vscode/l10n";
import { has, list, number, object, oneOf, own, text, type Json } from "./read";
import { readCall, type CallFields } from "./updates";

const OPTION_KINDS = ["allow_once", "allow_always", "reject_once", "reject_always"] as const;

export interface PermissionOption {
  readonly id: string;
  readonly name: string;
  readonly kind: (typeof OPTION_KINDS)[number];
}

export interface Permission {
  readonly type: "permission";
  readonly session: string;
  readonly call: CallFields;
  readonly options: readonly PermissionOption[];
  /** The command that would be run, where the user may write another one. */
  readonly command: string | undefined;
  /** The call has run, and what it brought waits to be passed on to the model. */
  readonly output: boolean;
}

interface Choice {
  readonly value: string;
  readonly title: string;
  readonly description: string;
}

export interface Field {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly kind: "text" | "choice" | "several" | "number" | "integer" | "boolean";
  readonly format: string;
  readonly choices: readonly Choice[];
  readonly required: boolean;
  readonly value: Value;
  readonly smallest: number | undefined;
  readonly largest: number | undefined;
}

export interface Form {
  readonly type: "form";
  readonly session: string;
  readonly message: string;
  /** The MCP server that asks; "" is the agent. */
  readonly server: string;
  readonly fields: readonly Field[];
  readonly call: string;
}

export type Asked = Permission | Form;
export type Value = string | boolean | readonly string[];
export type Values = Readonly<Record<string, Value>>;

/** Undefined for what no panel can show, which is then answered with an error. */
export function readAsked(method: string, raw: unknown): Asked | undefined {
  const params = object(raw);
  const session = text(params["sessionId"]);
  if (method === "session/request_permission") {
    const options = list(params["options"])
      .map(object)
      .map((option) => ({
        id: text(option["optionId"]),
        name: text(option["name"]),
        kind: oneOf(option["kind"], OPTION_KINDS, "reject_once"),
      }));
    const call = readCall(object(params["toolCall"]));
    const command = object(call.input)["command"];
    const mayChange = own(params)["commandMayChange"] === true && typeof command === "string";
    return {
      type: "permission",
      session,
      call,
      options,
      command: mayChange ? command : undefined,
      output: own(params)["output"] === true,
    };
  }
  if (method === "elicitation/create" && params["mode"] === "form") {
    const server = text(own(params)["server"]);
    return {
      type: "form",
      session,
      message: text(params["message"]),
      server,
      fields: readFields(params),
      call: text(params["toolCallId"]),
    };
  }
  return undefined;
}

/** The text of a piece of Markdown that is one block of code and nothing else. */
export function wholeCode(words: string): string | undefined {
  const [, , code] = /^(`{3,})\n([^]*)\n\1$/.exec(words) ?? [];
  return code;
}

/** The command that is asked about, as it may be shown. */
export function commandOf(permission: Permission): string | undefined {
  const [first] = permission.call.content ?? [];
  const isCommand = permission.call.kind === "execute" && !permission.output;
  return isCommand && first?.type === "block" && first.block.type === "text" ? wholeCode(first.block.text) : undefined;
}

function readFields(params: Json): readonly Field[] {
  const schema = object(params["requestedSchema"]);
  const required = list(schema["required"]);
  return Object.entries(object(schema["properties"])).map(([name, raw]) =>
    readField(name, object(raw), required.includes(name)),
  );
}

function readField(name: string, raw: Json, required: boolean): Field {
  const items = object(raw["items"]);
  const choices = choicesOf(raw["type"] === "array" ? items : raw);
  const kind = kindOf(raw, choices);
  return {
    name,
    title: text(raw["title"]) || name,
    description: text(raw["description"]),
    kind,
    format: text(raw["format"]),
    choices,
    required,
    value: defaultOf(raw, kind),
    smallest: number(raw["minimum"]),
    largest: number(raw["maximum"]),
  };
}

function choicesOf(raw: Json): readonly Choice[] {
  const named = [...list(raw["oneOf"]), ...list(raw["anyOf"])].map(object);
  if (named.length > 0) {
    return named.map((each) => ({
      value: text(each["const"]),
      title: text(each["title"]) || text(each["const"]),
      description: text(each["description"]),
    }));
  }
  const names = list(raw["enumNames"]);
  return list(raw["enum"]).map((value, at) => ({
    value: text(value),
    title: text(names[at]) || text(value),
    description: "",
  }));
}

function kindOf(raw: Json, choices: readonly Choice[]): Field["kind"] {
  if (raw["type"] === "array") {
    return "several";
  }
  if (choices.length > 0) {
    return "choice";
  }
  return raw["type"] === "number" || raw["type"] === "integer" || raw["type"] === "boolean" ? raw["type"] : "text";
}

function defaultOf(raw: Json, kind: Field["kind"]): Value {
  const value = raw["default"];
  if (kind === "several") {
    return list(value).map((each) => text(each));
  }
  if (kind === "boolean") {
    return value === true;
  }
  return has(raw, "default") ? String(value) : "";
}

/** Whether a field is one for the user's own words beside the choices of the one before it. */
export function isOther(form: Form, field: Field): boolean {
  return field.name.endsWith("_other") && form.fields.some((each) => `${each.name}_other` === field.name);
}

/** What is missing or wrong, by field; nothing when the form can be sent. */
export function problems(form: Form, values: Values): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const field of form.fields) {
    const value = values[field.name] ?? field.value;
    const empty = value === "" || (Array.isArray(value) && value.length === 0);
    if (empty && field.required) {
      found[field.name] = l10n.t("This is needed.");
    } else if (!empty && (field.kind === "number" || field.kind === "integer")) {
      const said = wrongNumber(field, Number(value));
      if (said !== "") {
        found[field.name] = said;
      }
    }
  }
  return found;
}

function wrongNumber(field: Field, value: number): string {
  if (!Number.isFinite(value)) {
    return l10n.t("A number is needed.");
  }
  if (field.kind === "integer" && !Number.isInteger(value)) {
    return l10n.t("A whole number is needed.");
  }
  if (field.smallest !== undefined && value < field.smallest) {
    return l10n.t("At least {0}.", field.smallest);
  }
  return field.largest !== undefined && value > field.largest ? l10n.t("At most {0}.", field.largest) : "";
}

/** The answer to a form that has no problems. What was left empty is left out. */
export function accepted(form: Form, values: Values): object {
  const content: Record<string, unknown> = {};
  for (const field of form.fields) {
    const value = values[field.name] ?? field.value;
    if (field.kind === "number" || field.kind === "integer") {
      if (value !== "") {
        content[field.name] = Number(value);
      }
    } else if (value !== "" && !(Array.isArray(value) && value.length === 0)) {
      content[field.name] = value;
    }
  }
  return { action: "accept", content };
}

/** The answer that has another command run, for once. */
export function rewritten(option: PermissionOption, command: string): object {
  return { outcome: { outcome: "selected", optionId: option.id }, _meta: { sould: { command } } };
}

/** The answer to a permission. `words`: what the agent is told with it. */
export function chosen(option: PermissionOption, words: string): object {
  const answer = { outcome: { outcome: "selected", optionId: option.id } };
  return words === "" ? answer : { ...answer, _meta: { sould: { feedback: words } } };
}

export function isRejection(option: PermissionOption): boolean {
  return option.kind === "reject_once" || option.kind === "reject_always";
}

/** A form of the agent or of an MCP server: fields with their labels, choices as buttons of a group, own words beside them. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Ask } from "../app/panel";
import { accepted, isOther, problems, type Field, type Form, type Value, type Values } from "../session/asking";
import { usePanel } from "./context";
import { Markdown } from "./message";

export function AskedForm({ ask, form }: { readonly ask: Ask; readonly form: Form }): JSX.Element {
  const panel = usePanel();
  const [values, setValues] = useState<Values>({});
  const [wrong, setWrong] = useState<Readonly<Record<string, string>>>({});
  const submit = (): void => {
    const found = problems(form, values);
    setWrong(found);
    if (Object.keys(found).length === 0) {
      panel.client.answer(ask.question, accepted(form, values));
      panel.say(l10n.t("Answered."));
    }
  };
  const said = new Set(form.fields.flatMap((field) => [field.title, field.description]));
  return (
    <form
      class="ask"
      aria-label={l10n.t("A question")}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) {
          event.preventDefault();
          submit();
        }
      }}
    >
      <h2 class="ask-title">
        {form.server === "" ? l10n.t("The agent asks") : l10n.t("The server {0} asks", form.server)}
      </h2>
      <div class="ask-body">
        {!form.message.split("\n\n").every((part) => said.has(part)) && <Markdown source={form.message} />}
        {form.fields.map((field) => (
          <FieldOf
            key={field.name}
            field={field}
            other={isOther(form, field)}
            value={values[field.name] ?? field.value}
            problem={wrong[field.name] ?? ""}
            onChange={(value) => {
              setValues({ ...values, [field.name]: value });
            }}
          />
        ))}
      </div>
      <div class="ask-options">
        <button type="submit" class="button">
          {l10n.t("Answer")}
          <kbd aria-hidden="true">Ctrl+Enter</kbd>
        </button>
        {form.server !== "" && (
          <button
            type="button"
            class="button secondary"
            onClick={() => {
              panel.client.answer(ask.question, { action: "decline" });
            }}
          >
            {l10n.t("Decline")}
          </button>
        )}
        <button
          type="button"
          class="button secondary"
          onClick={() => {
            panel.client.answer(ask.question, { action: "cancel" });
          }}
        >
          {l10n.t("Dismiss")}
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly field: Field;
  readonly other: boolean;
  readonly value: Value;
  readonly problem: string;
  readonly onChange: (value: Value) => void;
}

function FieldOf(props: FieldProps): JSX.Element {
  const { field, problem } = props;
  const id = `field-${field.name}`;
  const about = field.description === "" ? undefined : `${id}-about`;
  const grouped = field.kind === "choice" || field.kind === "several";
  const label = (
    <>
      {field.title}
      {field.required && <span class="needed"> {l10n.t("(needed)")}</span>}
    </>
  );
  const beside = (
    <>
      {about !== undefined && (
        <p class="field-about" id={about}>
          {field.description}
        </p>
      )}
      {problem !== "" && (
        <p class="field-problem" id={`${id}-problem`} role="alert">
          {problem}
        </p>
      )}
    </>
  );
  return grouped ? (
    <fieldset class="field" aria-describedby={about}>
      <legend>{label}</legend>
      {beside}
      <Choices {...props} />
    </fieldset>
  ) : (
    <div class="field">
      <label for={id}>{label}</label>
      {beside}
      <Input {...props} id={id} about={about} />
    </div>
  );
}

function Choices({ field, value, onChange }: FieldProps): JSX.Element {
  const several = field.kind === "several";
  const marked = Array.isArray(value) ? value : [value];
  return (
    <div class="choices">
      {field.choices.map((choice) => (
        <label class="choice" key={choice.value}>
          <input
            type={several ? "checkbox" : "radio"}
            name={field.name}
            checked={marked.includes(choice.value)}
            onChange={(event) => {
              const rest = marked.filter((each) => each !== choice.value && each !== "") as readonly string[];
              onChange(several ? (event.currentTarget.checked ? [...rest, choice.value] : rest) : choice.value);
            }}
          />
          <span>
            {choice.title}
            {choice.description !== "" && <span class="choice-about">{choice.description}</span>}
          </span>
        </label>
      ))}
    </div>
  );
}

function Input({
  field,
  value,
  problem,
  onChange,
  id,
  about,
}: FieldProps & { readonly id: string; readonly about: string | undefined }): JSX.Element {
  const said = { "aria-describedby": about, "aria-invalid": problem !== "" };
  if (field.kind === "boolean") {
    return (
      <input
        {...said}
        id={id}
        type="checkbox"
        checked={value === true}
        onChange={(event) => {
          onChange(event.currentTarget.checked);
        }}
      />
    );
  }
  const words = typeof value === "string" ? value : "";
  if (field.kind === "text" && field.format === "") {
    return (
      <textarea
        {...said}
        id={id}
        rows={1}
        dir="auto"
        value={words}
        onInput={(event) => {
          onChange(event.currentTarget.value);
        }}
      />
    );
  }
  const mode = field.kind === "text" ? MODES.get(field.format) : "decimal";
  return (
    <input
      {...said}
      id={id}
      type="text"
      inputMode={mode}
      placeholder={field.format}
      value={words}
      onInput={(event) => {
        onChange(event.currentTarget.value);
      }}
    />
  );
}

const MODES: ReadonlyMap<string, "email" | "url"> = new Map([
  ["email", "email"],
  ["uri", "url"],
]);

/** No model can be used yet: paste a key, or see what else makes one usable. The key goes to whoever holds the link, and to no daemon. */
import * as l10n from "@vscode/l10n";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { KeyGiven } from "../link";
import { NAMES, PROVIDERS } from "../providers";
import { usePanel } from "./context";
import { filled } from "./filled";

export function SignIn(): JSX.Element {
  const panel = usePanel();
  const check = async (): Promise<void> => {
    await panel.client.request("authenticate", { methodId: "provider-key" });
    panel.view.value = "conversation";
    panel.say(l10n.t("A model can be used now."));
  };
  return (
    <main class="sign-in">
      <h2>{l10n.t("Choose a model")}</h2>
      <p>{l10n.t("sould has no key of a model provider yet.")}</p>
      <KeyForm
        keep={(given) =>
          panel.attempt(async () => {
            await panel.client.request("_panel/login", given);
            await check();
          })
        }
      />
      <p>
        {filled(
          l10n.t(
            "A key in the environment, such as {0}, and an Ollama or LM Studio that runs on this machine are found by themselves. A provider with a sign-in of its own: {1} in a terminal.",
          ),
          <code>OPENAI_API_KEY</code>,
          <code>sould login</code>,
        )}
      </p>
      <div class="actions">
        <button type="button" class="button secondary" onClick={() => void panel.attempt(check)}>
          {l10n.t("Check again")}
        </button>
        <button
          type="button"
          class="button secondary"
          onClick={() => {
            panel.view.value = "conversation";
          }}
        >
          {l10n.t("Back")}
        </button>
      </div>
    </main>
  );
}

/** In place of a provider: it is named by its address. */
const OTHER = "";

function KeyForm({ keep }: { readonly keep: (given: KeyGiven) => Promise<unknown> }): JSX.Element {
  const [provider, setProvider] = useState<string>("kimi");
  const [address, setAddress] = useState("");
  const [model, setModel] = useState("");
  const [key, setKey] = useState("");
  const [file, setFile] = useState(false);
  const [busy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    const named = model.trim() === "" ? {} : { model: model.trim() };
    const which = provider === OTHER ? { provider: address.trim(), ...named } : { provider };
    await keep({ ...which, key: key.trim(), file });
    setBusy(false);
  };
  return (
    <form
      class="key-form"
      aria-label={l10n.t("A key")}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label>
        {l10n.t("Provider")}
        <select
          value={provider}
          onChange={(event) => {
            setProvider(event.currentTarget.value);
          }}
        >
          {NAMES.map((id) => (
            <option key={id} value={id}>
              {PROVIDERS[id]}
            </option>
          ))}
          <option value={OTHER}>{l10n.t("Another that answers as OpenAI’s does")}</option>
        </select>
      </label>
      {provider === OTHER && (
        <>
          <Field
            label={l10n.t("Address")}
            type="url"
            hint="https://api.example.com/v1"
            value={address}
            onValue={setAddress}
          />
          <Field
            label={l10n.t("Model")}
            hint={l10n.t("the first that it says it has")}
            value={model}
            onValue={setModel}
          />
        </>
      )}
      <Field
        label={l10n.t("Key")}
        type="password"
        hint={provider === OTHER ? l10n.t("empty if it wants none") : ""}
        value={key}
        onValue={setKey}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={file}
          onChange={(event) => {
            setFile(event.currentTarget.checked);
          }}
        />
        {filled(
          l10n.t("Where this system has no keyring, keep it in a file that only I can read ({0})"),
          <code>--file</code>,
        )}
      </label>
      <button type="submit" class="button" disabled={busy || (provider === OTHER ? address : key).trim() === ""}>
        {l10n.t("Keep the key")}
      </button>
    </form>
  );
}

function Field(props: {
  readonly label: string;
  readonly type?: "text" | "url" | "password";
  readonly hint: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
}): JSX.Element {
  const { label, type = "text", hint, value, onValue } = props;
  const shared = {
    spellcheck: false,
    placeholder: hint,
    value,
    onInput: (event: { readonly currentTarget: HTMLInputElement }) => {
      onValue(event.currentTarget.value);
    },
  };
  return (
    <label>
      {label}
      {type === "password" && <input type="password" autocomplete="off" {...shared} />}
      {type === "url" && <input type="url" autocomplete="off" {...shared} />}
      {type === "text" && <input type="text" autocomplete="off" {...shared} />}
    </label>
  );
}

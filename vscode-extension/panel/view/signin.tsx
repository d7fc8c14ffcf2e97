/** No model can be used yet: paste a key, or see what else makes one usable. The key goes to whoever holds the link, and to no daemon. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { KeyGiven } from "../link";
import { NAMES, PROVIDERS, type Provider } from "../providers";
import { usePanel } from "./context";

export function SignIn(): JSX.Element {
  const panel = usePanel();
  const check = async (): Promise<void> => {
    await panel.client.request("authenticate", { methodId: "provider-key" });
    panel.view.value = "conversation";
    panel.say("A model can be used now.");
  };
  return (
    <main class="sign-in">
      <h2>Choose a model</h2>
      <p>sould has no key of a model provider yet.</p>
      <KeyForm
        keep={(given) =>
          panel.attempt(async () => {
            await panel.client.request("_panel/login", given);
            await check();
          })
        }
      />
      <p>
        A key in the environment, such as <code>OPENAI_API_KEY</code>, and an Ollama or LM Studio that runs on this
        machine are found by themselves. Other providers are signed in to by <code>sould login</code> in a terminal.
      </p>
      <div class="actions">
        <button type="button" class="button secondary" onClick={() => void panel.attempt(check)}>
          Check again
        </button>
        <button
          type="button"
          class="button secondary"
          onClick={() => {
            panel.view.value = "conversation";
          }}
        >
          Back
        </button>
      </div>
    </main>
  );
}

function KeyForm({ keep }: { readonly keep: (given: KeyGiven) => Promise<unknown> }): JSX.Element {
  const [provider, setProvider] = useState<Provider>("kimi");
  const [key, setKey] = useState("");
  const [file, setFile] = useState(false);
  const [busy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    await keep({ provider, key: key.trim(), file });
    setBusy(false);
  };
  return (
    <form
      class="key-form"
      aria-label="A key"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label>
        Provider
        <select
          value={provider}
          onChange={(event) => {
            setProvider(event.currentTarget.value as Provider);
          }}
        >
          {NAMES.map((id) => (
            <option key={id} value={id}>
              {PROVIDERS[id]}
            </option>
          ))}
        </select>
      </label>
      <label>
        Key
        <input
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={key}
          onInput={(event) => {
            setKey(event.currentTarget.value);
          }}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={file}
          onChange={(event) => {
            setFile(event.currentTarget.checked);
          }}
        />
        Where this system has no keyring, keep it in a file that only I can read (<code>--file</code>)
      </label>
      <button type="submit" class="button" disabled={busy || key.trim() === ""}>
        Keep the key
      </button>
    </form>
  );
}

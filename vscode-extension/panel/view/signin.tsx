/** No model can be used yet: what to do about it. */
import type { JSX } from "preact";
import { usePanel } from "./context";

export function SignIn(): JSX.Element {
  const panel = usePanel();
  const check = (): void => {
    void panel.attempt(async () => {
      await panel.client.request("authenticate", { methodId: "provider-key" });
      panel.view.value = "conversation";
    });
  };
  return (
    <main class="sign-in">
      <h2>Choose a model</h2>
      <p>sould has no key of a model provider yet. In a terminal, run <code>sould login</code>: it asks for a key and keeps it in your keyring. A key in the environment, such as <code>OPENAI_API_KEY</code>, and a local Ollama or LM Studio are found by themselves.</p>
      <div class="actions">
        <button type="button" class="button" onClick={check}>Check again</button>
        <button type="button" class="button secondary" onClick={() => { panel.view.value = "conversation"; }}>Back</button>
      </div>
    </main>
  );
}

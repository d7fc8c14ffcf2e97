/**
 * Keeps the key of a model provider, by `sould login`, as the user pasted it in a panel.
 *
 * The key is a line of that program's standard input: never an argument, never in a log, never sent to the daemon. Pure Node.js: the
 * browser's panel (`scripts/panel.mjs`) uses it, too.
 */
import { spawn } from "node:child_process";
import type { KeyGiven } from "../../panel/link";

/** Rejects with what the program said. */
export async function login(given: KeyGiven, program: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const options = [...(given.model ? ["--model", given.model] : []), ...(given.file ? ["--file"] : [])];
  const child = spawn(program, ["login", given.provider, ...options], {
    env: environment,
    stdio: ["pipe", "ignore", "pipe"],
  });
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words += text;
  });
  // A program that ended without reading says why itself.
  child.stdin.on("error", () => undefined);
  child.stdin.end(`${given.key}\n`);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) {
    throw new Error(words.trim() || `sould login ended with code ${code ?? "of a signal"}`);
  }
}

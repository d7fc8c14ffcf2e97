import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { login } from "../src/panel/login";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "sould-login-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function program(lines: string): Promise<string> {
  const file = path.join(folder, "sould");
  await writeFile(file, `#!/bin/sh\n${lines}\n`);
  await chmod(file, 0o755);
  return file;
}

it("gives the key to sould login as a line, and never as an argument", async () => {
  const sould = await program(`echo "$@" >"${folder}/arguments"; cat >"${folder}/read"`);
  await login({ provider: "openai", key: "sk-secret", file: true }, sould, process.env);
  expect(await readFile(path.join(folder, "arguments"), "utf8")).toBe("login openai --file\n");
  expect(await readFile(path.join(folder, "read"), "utf8")).toBe("sk-secret\n");
});

it("names a model with an address", async () => {
  const sould = await program(`echo "$@" >"${folder}/arguments"`);
  await login({ provider: "https://a.example/v1", model: "small", key: "", file: false }, sould, process.env);
  expect(await readFile(path.join(folder, "arguments"), "utf8")).toBe("login https://a.example/v1 --model small\n");
});

it("fails with what sould login says", async () => {
  const sould = await program("echo 'There is no keyring here.' >&2; exit 1");
  await expect(login({ provider: "kimi", key: "sk-secret", file: false }, sould, process.env)).rejects.toThrow(
    "There is no keyring here.",
  );
});

it("fails with a sentence when there is no program", async () => {
  await expect(
    login({ provider: "kimi", key: "sk-secret", file: false }, path.join(folder, "none"), process.env),
  ).rejects.toThrow("ENOENT");
});

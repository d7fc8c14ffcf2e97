import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { hasProject, startingIn, watchProjects } from "../src/startup";

let root: string;
let projects: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "sould-startup-"));
  projects = path.join(root, "state", "sould", "projects");
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function record(id: string, text: string): void {
  mkdirSync(path.join(projects, id), { recursive: true });
  writeFileSync(path.join(projects, id, "project.json"), text);
}

test("the program is started in the first directory that is there, else at home", () => {
  const gone = path.join(root, "gone");
  expect(startingIn([gone, root], "/houses/me")).toBe(root);
  expect(startingIn([gone], "/houses/me")).toBe("/houses/me");
});

describe("what may be there to review", () => {
  it("is what a record is about: this directory, one above it or one below it", async () => {
    expect(await hasProject(projects, ["/p/a"])).toBe(false);
    record("broken", "{");
    record("one", JSON.stringify({ root: "/p/a" }));
    const about = async (directory: string): Promise<boolean> => await hasProject(projects, [directory]);
    expect(await Promise.all(["/p/a", "/p", "/p/a/src", "/p/ab", "/q"].map(about))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it("is noticed when its record is made, wherever the directories above it began", async () => {
    const noticed = new Promise<void>((resolve, reject) => {
      const watching = watchProjects(
        projects,
        () => {
          void hasProject(projects, ["/p"]).then((has) => {
            if (has) {
              watching.dispose();
              resolve();
            }
          });
        },
        reject,
      );
    });
    record("one", JSON.stringify({ root: "/p" }));
    await noticed;
  });

  it("is not noticed where the system allows no more watches, which stops nothing else", async () => {
    const bundle = path.join(root, "startup.cjs");
    await build({
      entryPoints: [path.join(import.meta.dirname, "../src/startup.ts")],
      bundle: true,
      platform: "node",
      format: "cjs",
      outfile: bundle,
    });
    const program = `
      const fs = require("node:fs");
      const { watchProjects } = require(${JSON.stringify(bundle)});
      const open = [];
      try { for (;;) open.push(fs.openSync("/dev/null")); } catch {}
      let words = "";
      watchProjects("/", () => {}, (said) => { words = said; }).dispose();
      open.forEach((each) => fs.closeSync(each));
      console.log(words);
    `;
    const { stdout } = await promisify(execFile)("/bin/sh", [
      "-c",
      'ulimit -n 64; exec "$0" -e "$1"',
      process.execPath,
      program,
    ]);
    expect(stdout).toContain("new projects are not noticed: Error: EMFILE");
  });
});

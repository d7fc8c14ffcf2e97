import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { directoryWith, install, installed, type Site } from "../src/setup/install";
import { compareVersions } from "../src/setup/versions";

let root: string;
let site: Site;
const never = new AbortController().signal;

/** A program on PATH, in the words of a shell; each run of it is a line of `said`. */
function program(name: string, body: string): void {
  const file = path.join(root, "bin", name);
  writeFileSync(file, `#!/bin/sh\necho "${name} $*" >> "${root}/said"\n${body}\n`);
  chmodSync(file, 0o755);
}

/** What an environment's own interpreter does: it has sould once pip has installed the wheel. */
const MAKES = 'for last in "$@"; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python"';
const INSTALLS = 'case "$*" in *.whl) touch "$(dirname "$0")/sould";; esac';
const PYTHON = `case "$*" in *"-m venv"*) ${MAKES};; *) ${INSTALLS};; esac`;

const said = (): string => readFileSync(path.join(root, "said"), "utf8");

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "sould-setup-"));
  for (const directory of ["bin", "carried"]) {
    mkdirSync(path.join(root, directory));
  }
  writeFileSync(path.join(root, "carried", "sould-1.2.0-py3-none-any.whl"), "");
  writeFileSync(path.join(root, "carried", "runtime.lock"), "");
  site = {
    carried: path.join(root, "carried"),
    storage: path.join(root, "storage"),
    version: "1.2.0",
    // Nothing of the system's own: dirname, mkdir and the like, and no Python.
    environment: { PATH: path.join(root, "bin") },
  };
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

/** The few programs that the scripts above need. */
async function tools(): Promise<void> {
  for (const name of ["mkdir", "cp", "touch", "dirname"]) {
    const { stdout } = await promisify(execFile)("/bin/sh", ["-c", `command -v ${name}`]);
    const file = path.join(root, "bin", name);
    writeFileSync(file, `#!/bin/sh\nexec ${stdout.trim()} "$@"\n`);
    chmodSync(file, 0o755);
  }
}

describe("installing what the extension carries", () => {
  it("makes an environment of its own, and checks each download against its hash", async () => {
    await tools();
    program("python3", PYTHON);
    const steps: string[] = [];
    expect(await installed(site)).toBeUndefined();
    const sould = await install(site, (words) => steps.push(words), never);
    expect(sould).toBe(path.join(root, "storage", "sould-1.2.0", "bin", "sould"));
    expect(await installed(site)).toBe(sould);
    expect(steps).toEqual(["making a Python environment", "downloading what sould needs", "installing sould"]);
    expect(said()).toMatch(/--require-hashes -r .*runtime\.lock/);
    expect(said()).toMatch(/--no-deps --no-compile --no-index .*sould-1\.2\.0-py3-none-any\.whl/);
    expect(await installed({ ...site, version: "1.3.0" })).toBeUndefined();
    const directory = await directoryWith(sould, site.storage);
    expect(readdirSync(directory)).toEqual(["sould"]); // no Python is before the user's own
    expect(readlinkSync(path.join(await directoryWith("/newer/sould", site.storage), "sould"))).toBe("/newer/sould");
  });

  it("takes uv where there is one", async () => {
    await tools();
    program("uv", `case "$*" in venv*) ${MAKES};; *.whl) touch "${root}/storage/sould-1.2.0/bin/sould";; esac`);
    await install(site, () => undefined, never);
    expect(said()).toMatch(/uv venv .*>=3\.11/);
    expect(said()).not.toContain("python3");
  });

  it("says what is needed where there is nothing", async () => {
    await expect(install(site, () => undefined, never)).rejects.toThrow(/uv nor a Python of version 3\.11 or newer/);
    rmSync(path.join(root, "carried", "sould-1.2.0-py3-none-any.whl"));
    await expect(install(site, () => undefined, never)).rejects.toThrow(/carries no sould/);
  });

  it("says what the package index said, and counts nothing that is not whole", async () => {
    await tools();
    program("python3", `case "$*" in *"-m venv"*) ${MAKES};; *--require-hashes*) echo "no network" >&2; exit 1;; esac`);
    await expect(install(site, () => undefined, never)).rejects.toThrow(/python said: no network/);
    expect(await installed(site)).toBeUndefined();
    program("python3", PYTHON);
    await install(site, () => undefined, never);
    expect(existsSync((await installed(site)) ?? "")).toBe(true);
  });

  it("ends when the user ends it", async () => {
    await tools();
    program("python3", PYTHON);
    const ended = AbortSignal.abort(new Error("you ended it"));
    await expect(install(site, () => undefined, ended)).rejects.toThrow("you ended it");
    expect(await installed(site)).toBeUndefined();
  });
});

describe("versions", () => {
  it("are compared by their numbers, and come after their candidates", () => {
    const sorted = ["0.1.0", "0.2.0rc1", "0.2.0", "0.2.1", "0.10.0", "1.0"];
    for (const [at, version] of sorted.entries()) {
      expect(compareVersions(version, version)).toBe(0);
      expect(
        sorted
          .slice(at + 1)
          .every((later) => compareVersions(version, later) < 0 && compareVersions(later, version) > 0),
      ).toBe(true);
    }
    expect(compareVersions("1.0", "1.0.0")).toBe(0);
  });
});

/** Says what is wrong with the connection, in a document of its own: what `sould doctor` finds, and what this window knows. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Connection } from "./connection/connection";

const LONGEST_WAIT = 60_000;
const MOST_OUTPUT = 1_000_000;

/** The page. `program`: what is run, undefined when there is none. */
export async function diagnosis(connection: Connection, program: string | undefined): Promise<string> {
  const lines = [
    "# sould in this window",
    "",
    `- Connection: ${connection.state}${connection.problem ? ` (${connection.problem})` : ""}`,
  ];
  if (connection.version) {
    lines.push(`- Version of the daemon: ${connection.version}`);
  }
  lines.push(`- Program: ${program ?? "none was found"}`);
  if (program !== undefined) {
    lines.push("", "## sould doctor", "", "```", await doctor(program), "```");
  }
  return `${lines.join("\n")}\n`;
}

async function doctor(program: string): Promise<string> {
  const options = { timeout: LONGEST_WAIT, maxBuffer: MOST_OUTPUT };
  try {
    const { stdout, stderr } = await promisify(execFile)(program, ["doctor"], options);
    return (stdout + stderr).trim();
  } catch (problem) {
    // It ends with another code when it found something.
    const { stdout, message } = problem as Error & { stdout?: string };
    return (stdout ?? "").trim() || message;
  }
}

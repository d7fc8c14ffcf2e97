/** Waiting for what VS Code does: with a limit, and no longer than the call is wanted. */
import type * as vscode from "vscode";
import { ToolError } from "./call";

/** Waits until something is so, asking at each change. False: it is not in time. Raises ToolError when the call is taken back. */
export function until(
  done: () => boolean,
  changed: vscode.Event<unknown>,
  milliseconds: number,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      if (done() || signal.aborted) {
        end();
      }
    };
    const end = (): void => {
      listening.dispose();
      signal.removeEventListener("abort", end);
      clearTimeout(timer);
      if (signal.aborted) {
        reject(withdrawn());
      } else {
        resolve(done());
      }
    };
    const timer = setTimeout(end, milliseconds);
    const listening = changed(look);
    signal.addEventListener("abort", end);
    look();
  });
}

/** The answer of somebody who may take long, or never answer. Raises ToolError `timeout`, and when the call is taken back. */
export async function within<T>(asked: Thenable<T>, milliseconds: number, signal: AbortSignal): Promise<T> {
  let end = (): void => undefined;
  const ended = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => {
      reject(new ToolError("timeout", "VS Code has not answered in time."));
    }, milliseconds);
    const stop = (): void => {
      reject(withdrawn());
    };
    signal.addEventListener("abort", stop);
    end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    };
    if (signal.aborted) {
      stop();
    }
  });
  try {
    return await Promise.race([asked, ended]);
  } finally {
    end();
  }
}

function withdrawn(): ToolError {
  return new ToolError("failed", "The call was taken back.");
}

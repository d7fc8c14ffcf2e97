/**
 * One run of `sould acp`, spoken to by the ACP library over its pipes. Ends when either side ends; never starts again by itself.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { Readable, Writable } from "node:stream";
import {
  client,
  ndJsonStream,
  PROTOCOL_VERSION,
  type ClientConnection,
  type InitializeResponse,
} from "@agentclientprotocol/sdk";
import { l10n } from "vscode";
import { CAPABILITIES } from "../../panel/capabilities";
import type { Traffic } from "./traffic";

/** What the daemon says and asks. */
export interface Peer {
  /** Notifications, in their order. */
  told(method: string, params: unknown): void;
  /** Answers a request. Raises for one it does not know. `id`: what `$/cancel_request` calls it; `signal`: it was. */
  asked(method: string, params: unknown, id: unknown, signal: AbortSignal): Promise<unknown>;
  /** A request as it is to be sent: with what the daemon has to know of this window. */
  sending(method: string, params: object): object;
  /** What the daemon refused a request with, beside whoever made it. */
  refused(problem: unknown): void;
}

export interface Start {
  readonly program: string;
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  /** This extension's, as the daemon is told. */
  readonly version: string;
  /** What the editor is called. */
  readonly title: string;
}

/** Messages of the daemon are at most a whole list of a large project. */
const LONGEST_MESSAGE = 256 * 1024 * 1024;
const MOST_WORDS = 4_000;

/** What panels show, and that this window takes what is written into its documents. */
const OWN = { ...CAPABILITIES._meta.sould, buffers: true };
const DECLARED = { ...CAPABILITIES, _meta: { ...CAPABILITIES._meta, sould: OWN } };

export class Link {
  readonly #child: ChildProcess;
  readonly #connection: ClientConnection;
  readonly #traffic: Traffic;
  readonly #peer: Peer;
  #words = "";
  /** Resolves with what it said last when the program has ended. */
  readonly ended: Promise<string>;

  constructor(start: Start, peer: Peer, traffic: Traffic) {
    this.#traffic = traffic;
    this.#peer = peer;
    const child = spawn(start.program, ["acp"], {
      cwd: start.cwd,
      env: start.environment,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child = child;
    child.stderr.setEncoding("utf8").on("data", (words: string) => {
      this.#words = (this.#words + words).slice(-MOST_WORDS);
    });
    // A pipe that breaks is told by the program's end.
    child.stdin.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      child.once("error", (problem) => {
        resolve(problem.message);
      });
      child.once("close", (code) => {
        resolve(
          this.#words.trim() ||
            (code === null ? l10n.t("sould acp was ended by a signal") : l10n.t("sould acp ended with code {0}", code)),
        );
      });
    });
    const writable = Writable.toWeb(child.stdin) as WritableStream<Uint8Array>;
    const readable = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
    this.#connection = client({ name: "vscode" })
      .onNotification("*", ({ method, params }) => {
        traffic.told(method, params);
        peer.told(method, params);
      })
      .onRequest("*", ({ method, params, requestId, signal }) =>
        traffic.asked(method, params, () => peer.asked(method, params, requestId, signal)),
      )
      .connect(ndJsonStream(writable, readable, { maxMessageBytes: LONGEST_MESSAGE }));
    void this.ended.then(() => {
      this.#connection.close();
    });
  }

  /** Says who we are. Raises what the program said when it ends instead of answering. */
  async initialize(start: Start): Promise<InitializeResponse> {
    const asked = this.#connection.agent.request<InitializeResponse, object>("initialize", {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: "sould-vscode", title: start.title, version: start.version },
      clientCapabilities: DECLARED,
    });
    asked.catch(() => undefined);
    const ended = this.ended.then((words) => {
      throw new Error(words);
    });
    return await Promise.race([asked, ended]);
  }

  /** `withdrawn` tells the daemon that nobody waits any more; it answers nevertheless. */
  request(method: string, params: object, withdrawn?: AbortSignal): Promise<unknown> {
    const options = withdrawn && { cancellationSignal: withdrawn };
    const sent = this.#peer.sending(method, params);
    const answer = this.#traffic.asking(method, sent, () =>
      this.#connection.agent.request<unknown, object>(method, sent, options),
    );
    answer.catch((problem: unknown) => {
      this.#peer.refused(problem);
    });
    return answer;
  }

  notify(method: string, params: object): Promise<void> {
    this.#traffic.telling(method, params);
    return this.#connection.agent.notify(method, params);
  }

  /** Ends the program, which closes the connection. */
  close(): void {
    this.#child.stdin?.end();
    this.#child.kill();
  }
}

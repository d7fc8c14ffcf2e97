/** Conversations that other agents keep about a folder: one is picked, becomes a session of sould's, and is shown in the chat. */
import * as vscode from "vscode";
import type { Connection } from "../connection/connection";
import { NotConnected } from "../connection/connection";
import { iconless } from "../editor/notice";
import type { Places } from "../editor/places";
import { parse } from "../protocol/readers";
import { imported, keptConversations } from "../protocol/session";
import type { Panels } from "./panels";

/** By the agent's name in the protocol. */
const NAMES: Readonly<Record<string, string>> = { claude: "Claude Code", codex: "Codex", kimi: "Kimi" };

export class Importer {
  readonly #panels: Panels;
  readonly #places: Places;
  readonly #connection: Connection;

  constructor(panels: Panels, places: Places, connection: Connection) {
    this.#panels = panels;
    this.#places = places;
    this.#connection = connection;
  }

  /** Asks which; nothing happens when none is chosen. Raises what to say to the user when there is none. */
  async pick(): Promise<void> {
    const cwd = this.#places.currentRoot();
    if (cwd === undefined) {
      throw new Error(vscode.l10n.t("Open a folder first: conversations are imported for one."));
    }
    await this.#connection.connect();
    if (this.#connection.state !== "connected") {
      throw new NotConnected(this.#connection.problem);
    }
    const { found } = parse(keptConversations, await this.#connection.request("_sould/session/imports", { cwd }));
    if (found.length === 0) {
      throw new Error(vscode.l10n.t("Claude Code, Codex and Kimi keep no conversation about this folder."));
    }
    const picked = await vscode.window.showQuickPick(
      found.map((each) => ({
        label: iconless(each.title) || vscode.l10n.t("Untitled"),
        description: `${NAMES[each.agent] ?? each.agent}, ${each.updatedAt.slice(0, 10)}`,
        path: each.path,
        agent: each.agent,
      })),
      {
        title: vscode.l10n.t("Import a Session"),
        placeHolder: vscode.l10n.t("Which conversation shall go on here?"),
        matchOnDescription: true,
      },
    );
    if (picked !== undefined) {
      const made = await this.#connection.request("_sould/session/import", {
        cwd,
        path: picked.path,
        agent: picked.agent,
      });
      await this.#panels.show({ session: { id: parse(imported, made).sessionId, cwd } });
    }
  }
}

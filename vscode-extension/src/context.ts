/**
 * What the extension is made of, and who owns it: one connection, one model, and what shows it. Everything ends with it.
 *
 * Connects when there may be something to review, or when the user asks; from then on the connection comes back by itself.
 */
import { homedir } from "node:os";
import * as vscode from "vscode";
import type { KeyGiven } from "../panel/link";
import { Connection, type Starting } from "./connection/connection";
import { usersEnvironment } from "./connection/environment";
import { withRestriction } from "./connection/restricted";
import { Traffic } from "./connection/traffic";
import { Answerer } from "./editor/answer";
import { Badges } from "./editor/badges";
import { Bases } from "./editor/base";
import { Buffers } from "./editor/buffers";
import { Chooser } from "./editor/chosen";
import { Decider } from "./editor/decide";
import { Follower } from "./editor/follow";
import { Inbox } from "./editor/inbox";
import { Keys } from "./editor/keys";
import { Lenses } from "./editor/lenses";
import { Mistakes } from "./editor/mistakes";
import { Navigator } from "./editor/navigate";
import { Painter } from "./editor/paint";
import { Places } from "./editor/places";
import { QuickDiff } from "./editor/quickdiff";
import { Rejections } from "./editor/rejected";
import { Review } from "./editor/review";
import { Shortcuts } from "./editor/shortcuts";
import { Status } from "./editor/status";
import { Threads } from "./editor/threads";
import { Titles } from "./editor/titles";
import { ChangesView } from "./editor/tree";
import { write } from "./editor/write";
import { InboxModel } from "./inbox/model";
import { Asking } from "./panel/asking";
import { Importer } from "./panel/importing";
import { login } from "./panel/login";
import { Panels } from "./panel/panels";
import { ASKED_OF_PANELS } from "./panel/router";
import { Log } from "./log";
import type { ReportParams } from "./protocol/review";
import { ReviewModel } from "./review/model";
import { Committer } from "./scm/commit";
import { Setup } from "./setup/setup";
import { Lender } from "./tools/lend";
import { Offer } from "./tools/offer";
import { Tools } from "./tools/serve";
import { hasProject, projectsDirectory, startingIn, watchProjects } from "./startup";

export class Context implements vscode.Disposable {
  readonly log = new Log();
  readonly places = new Places();
  readonly model = new ReviewModel();
  readonly setup: Setup;
  readonly connection: Connection;
  readonly review: Review;
  readonly chooser: Chooser;
  readonly decider: Decider;
  readonly navigator: Navigator;
  readonly rejections: Rejections;
  readonly threads: Threads;
  readonly answerer: Answerer;
  readonly panels: Panels;
  readonly asking: Asking;
  readonly importer: Importer;
  readonly committer: Committer;
  readonly follower: Follower;
  readonly tools: Tools;
  readonly shortcuts: Shortcuts;
  readonly #inbox: Inbox;
  readonly #buffers: Buffers;
  readonly #version: string;
  readonly #subscriptions: { dispose(): void }[];

  constructor(extension: vscode.ExtensionContext) {
    this.#version = String((extension.extension.packageJSON as { version: unknown }).version);
    this.setup = new Setup(extension, this.#version);
    this.shortcuts = new Shortcuts(extension.globalState);
    const mistakes = new Mistakes();
    const peer = {
      told: (method: string, params: unknown): void => {
        this.#told(method, params);
      },
      asked: (method: string, params: unknown, id: unknown, signal: AbortSignal): Promise<unknown> =>
        this.#asked(method, params, id, signal),
      refused: (problem: unknown): void => void mistakes.refused(problem),
      sending: (method: string, params: object): object =>
        withRestriction(method, params, this.#directories(), vscode.workspace.isTrusted),
    };
    const log = this.log.warn.bind(this.log);
    const traffic = new Traffic(
      () => this.log.isTraced,
      (line) => {
        this.log.trace(line);
      },
    );
    this.connection = new Connection(() => this.#prepare(), peer, log, traffic);
    this.review = new Review(this.connection, this.model, log);
    this.#buffers = new Buffers(this.places, (report) => {
      this.#report(report);
    });
    const bases = new Bases(this.review, this.model, this.places, this.connection);
    const titles = new Titles(this.connection, this.model);
    this.chooser = new Chooser(this.model, this.places, (path) => bases.known(path));
    this.decider = new Decider(this.review, this.model, this.#buffers, this.places);
    this.navigator = new Navigator(this.model, this.places);
    this.rejections = new Rejections(this.review, this.model, this.places);
    this.threads = new Threads(this.review, this.model, this.places);
    this.tools = new Tools(this.places, this.model, (state) => {
      this.connection.notify("_sould/editor/state", state);
    });
    const waiting = new InboxModel();
    this.#inbox = new Inbox(this.connection, waiting, log);
    this.answerer = new Answerer(this.connection, waiting, this.#inbox);
    this.panels = new Panels(
      extension.extensionUri,
      this.connection,
      this.places,
      (given) => this.#login(given),
      (line) => {
        this.log.info(line);
      },
    );
    this.asking = new Asking(this.panels, this.places, this.connection);
    this.importer = new Importer(this.panels, this.places, this.connection);
    this.follower = new Follower(extension.workspaceState, this.places, () => this.panels.current?.id);
    this.committer = new Committer(this.connection, () => this.panels.current);
    this.#subscriptions = [
      this.log,
      this.connection,
      this.#buffers,
      bases,
      titles,
      mistakes,
      this.rejections,
      this.threads,
      this.#inbox,
      this.tools,
      this.answerer,
      this.panels,
      new Lenses(this.model, this.places, this.shortcuts),
      new Painter(this.model, this.places),
      new QuickDiff(this.model, this.places),
      new ChangesView(this.model, this.places, titles),
      new Badges(this.model, this.places),
      new Status(this.connection, this.#version, this.model, waiting, this.tools.terminals),
      new Lender(extension.extension.packageJSON, this.connection, this.places),
      new Offer(
        () => this.setup.find(),
        () => usersEnvironment(process.env),
      ),
      new Keys(this.model, this.places, this.connection),
      this.connection.onDidChangeState(() => {
        this.#stateChanged();
      }),
      vscode.workspace.onDidChangeWorkspaceFolders(() => void this.#followed()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.panels.router.openAgain()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        this.#configured(event);
      }),
      watchProjects(this.#projects(), () => void this.connectIfNeeded(), log),
    ];
  }

  /** Connects when agents have changed something in this workspace before. */
  async connectIfNeeded(): Promise<void> {
    if (this.connection.state === "idle" && (await hasProject(this.#projects(), this.#directories()))) {
      await this.connection.connect();
    }
  }

  dispose(): void {
    this.#subscriptions.forEach((each) => {
      each.dispose();
    });
  }

  #projects(): string {
    return projectsDirectory(process.env, homedir());
  }

  /** The real directories of the workspace's folders. */
  #directories(): string[] {
    const roots = (vscode.workspace.workspaceFolders ?? []).map((folder) => this.places.rootOf(folder));
    return roots.filter((root) => root !== undefined);
  }

  async #prepare(): Promise<Starting> {
    const found = await this.setup.find();
    if ("problem" in found) {
      return found;
    }
    return {
      program: found.program,
      cwd: startingIn(this.#directories(), homedir()),
      environment: usersEnvironment(process.env),
      version: this.#version,
      title: vscode.env.appName,
    };
  }

  async #login(given: KeyGiven): Promise<void> {
    const found = await this.setup.find();
    if ("problem" in found) {
      throw new Error(found.problem);
    }
    await login(given, found.program, usersEnvironment(process.env));
  }

  #stateChanged(): void {
    this.log.info(`connection: ${[this.connection.state, this.connection.problem].filter(Boolean).join(": ")}`);
    if (this.connection.state === "connected") {
      this.review.forget();
      this.#buffers.reportAll();
      this.tools.tell();
      void this.#followed();
      void this.#inbox.follow();
    }
  }

  async #followed(): Promise<void> {
    if (this.connection.state === "connected") {
      await this.review.follow(this.#directories());
    } else {
      await this.connectIfNeeded();
    }
  }

  #configured(event: vscode.ConfigurationChangeEvent): void {
    if (event.affectsConfiguration("sould.path") && this.connection.state !== "idle") {
      void this.connection.restart();
    }
  }

  #report(report: ReportParams): void {
    this.connection.notify("_sould/review/report", report);
    if (report.path && report.changes) {
      if (report.unsaved) {
        this.model.typed(report.path, report.changes);
      } else {
        this.model.loaded(report.path);
      }
    }
  }

  #told(method: string, params: unknown): void {
    this.panels.router.told(method, params);
    void this.follower.told(method, params);
    if (method === "_sould/review/changed") {
      this.review.changed(params);
    } else if (method === "_sould/inbox/changed") {
      this.#inbox.changed(params);
    } else if (method === "_sould/review/forgotten") {
      this.#buffers.reportAll();
    } else if (method === "_sould/editor/forgotten") {
      this.tools.tell();
    }
  }

  async #asked(method: string, params: unknown, id: unknown, signal: AbortSignal): Promise<unknown> {
    if (ASKED_OF_PANELS.has(method)) {
      return await this.panels.router.asked(method, params, id);
    }
    if (method === "_sould/review/write") {
      return await write(params, this.places, this.#buffers);
    }
    if (method === "_sould/editor/call") {
      return await this.tools.serve(params, signal);
    }
    throw new Error(`This editor has no method ${method}.`);
  }
}

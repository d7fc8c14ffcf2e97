/** What can be mentioned in a message, and what is sent with it for that: files, symbols, problems, hunks, conversations, resources. Pure. */
import * as l10n from "@vscode/l10n";
import { sessionResources } from "../../src/protocol/session";
import { fileUri, relative } from "./completion";
import type { PendingFile } from "./review";
import { list, number, object, text } from "./read";
import type { Block } from "./updates";
import { nameOf } from "./visible";

export interface Mention {
  /** What is put into the message. */
  readonly words: string;
  readonly shown: string;
  readonly about: string;
  /** What is sent with the message: a chip shows all of it. */
  readonly block?: Block;
  /** The conversation that is sent, which is read when it is taken. */
  readonly session?: { readonly id: string; readonly title: string };
}

/** Characters of a conversation that are sent: its end. */
const MOST_SAID = 60_000;
const MOST_PROBLEMS = 200;

export function ofFiles(raw: unknown, root: string): readonly Mention[] {
  return list(object(raw)["paths"])
    .map((path) => text(path))
    .map((path) => {
      const name = relative(path, root);
      return {
        words: `@${name}`,
        shown: nameOf(name),
        about: name,
        block: { type: "link", uri: fileUri(path), name },
      };
    });
}

/** As `_panel/symbols` has them. */
export function ofSymbols(raw: unknown, root: string): readonly Mention[] {
  return list(object(raw)["symbols"])
    .map(object)
    .map((symbol) => {
      const [name, path, line] = [text(symbol["name"]), text(symbol["path"]), number(symbol["line"]) ?? 1];
      const about = `${text(symbol["kind"]).toLowerCase()} · ${relative(path, root)}:${line}`;
      return {
        words: `@${name}`,
        shown: name,
        about,
        block: { type: "link", uri: `${fileUri(path)}#L${line}`, name: `${name} (${relative(path, root)}:${line})` },
      };
    });
}

/** As `_panel/problems` has them: all of them, and those of each file. */
export function ofProblems(raw: unknown, root: string): readonly Mention[] {
  const problems = list(object(raw)["problems"])
    .map(object)
    .map((problem) => {
      const path = relative(text(problem["path"]), root);
      const source = text(problem["source"]);
      return {
        path,
        said: `${path}:${number(problem["line"]) ?? 1}: ${text(problem["severity"])}: ${text(problem["message"])}${source === "" ? "" : ` (${source})`}`,
      };
    });
  const paths = [...new Set(problems.map((problem) => problem.path))];
  const mention = (name: string, shown: string, said: readonly string[]): Mention => ({
    words: `@${name}`,
    shown,
    about: said.length === 1 ? l10n.t("1 problem") : l10n.t("{0} problems", said.length),
    block: {
      type: "resource",
      uri: ours("problems", shown),
      text: [...said.slice(0, MOST_PROBLEMS), ...(said.length > MOST_PROBLEMS ? ["…"] : [])].join("\n"),
    },
  });
  const each = paths.map((path) =>
    mention(
      `problems:${path}`,
      l10n.t("problems of {0}", path),
      problems.filter((one) => one.path === path).map((one) => one.said),
    ),
  );
  return problems.length === 0
    ? []
    : [
        mention(
          "problems",
          l10n.t("problems"),
          problems.map((one) => one.said),
        ),
        ...each,
      ];
}

export function ofHunks(files: readonly PendingFile[], root: string): readonly Mention[] {
  return files.flatMap(({ path, hunks }) =>
    hunks.map((hunk) => {
      const place = `${relative(path, root)}:${hunk.line}`;
      const lines = [...hunk.removed.map((line) => `-${bare(line)}`), ...hunk.added.map((line) => `+${bare(line)}`)];
      const said = [
        `Hunk ${hunk.id}, to be reviewed, at ${place}:`,
        ...(hunk.what === "" ? [] : [hunk.what]),
        ...lines,
      ].join("\n");
      return {
        words: `@hunk:${place}`,
        shown: l10n.t("hunk {0}", place),
        about: `−${hunk.removed.length} +${hunk.added.length}`,
        block: { type: "resource", uri: ours(`hunk/${hunk.id}`, place), text: said },
      };
    }),
  );
}

export function ofResources(raw: unknown): readonly Mention[] {
  return (sessionResources(raw)?.resources ?? []).map(({ uri, name, server, description }) => ({
    words: `@${name || uri}`,
    shown: name || uri,
    about: [server, description || uri].join(" · "),
    block: { type: "link", uri, name: `${server}: ${name || uri}` },
  }));
}

/** `except`: the conversation in which it is mentioned. */
export function ofSessions(
  sessions: readonly { readonly id: string; readonly title: string }[],
  except: string,
): readonly Mention[] {
  return sessions
    .filter(({ id, title }) => id !== except && title !== "")
    .map(({ id, title }) => ({
      words: `@${title}`,
      shown: title,
      about: l10n.t("conversation"),
      session: { id, title },
    }));
}

/** A conversation as it is sent. */
export function conversation(title: string, id: string, markdown: string): Block {
  const said = markdown.length > MOST_SAID ? `(Its beginning is left out.)\n…${markdown.slice(-MOST_SAID)}` : markdown;
  return { type: "resource", uri: ours(`session/${id}`, title), text: said };
}

/** Those that have the letters of what is typed in this order; what begins with it first, then what has it in one piece. */
export function ranked(mentions: readonly Mention[], typed: string): readonly Mention[] {
  const wanted = typed.toLowerCase();
  const place = ({ shown, about }: Mention): number => {
    const name = shown.toLowerCase();
    return name.startsWith(wanted)
      ? 0
      : name.includes(wanted)
        ? 1
        : about.toLowerCase().includes(wanted)
          ? 2
          : within(name, wanted) || within(about.toLowerCase(), wanted)
            ? 3
            : 4;
  };
  return [0, 1, 2, 3].flatMap((each) => mentions.filter((mention) => place(mention) === each));
}

function within(name: string, letters: string): boolean {
  return Array.from(letters).reduce((at, letter) => (at < 0 ? at : name.indexOf(letter, at) + 1 || -1), 0) >= 0;
}

function bare(line: string): string {
  return line.replace(/\r?\n$/, "");
}

/** The address of something that no other program has one for; its last part is the name that people see. */
function ours(kind: string, name: string): string {
  return `sould:${kind}/${encodeURIComponent(name)}`;
}

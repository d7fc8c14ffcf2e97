/** What a terminal printed, as lines of styled text. Pure. */
import Anser from "anser";

interface Span {
  readonly text: string;
  /** Class names: `ansi-red-fg`, `ansi-bold`. Colours outside the palette are left to the theme. */
  readonly classes: string;
}

/** Empties the terminal: what stands before it is gone. */
const CLEAR = "\u001b[2J";
/** Everything but colours: cursor movements, titles, links. */
const OTHER = /\u001b(?:\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\[[0-9;?]*[A-LN-Za-ln-z]|[^[\]])/g;

/** The last `most` lines, and how many there are above them. */
export function screen(printed: string, most: number): { readonly spans: readonly Span[]; readonly above: number } {
  const cleared = printed.slice(printed.lastIndexOf(CLEAR) + 1).replace(/^\[2J/, "");
  const lines = cleared.replace(OTHER, "").replace(/\r\n/g, "\n").replace(/\n$/, "").split("\n").map(overwritten);
  const above = Math.max(0, lines.length - most);
  const parts = Anser.ansiToJson(lines.slice(above).join("\n"), { json: true, remove_empty: true, use_classes: true });
  return { spans: parts.map(span), above };
}

/** A carriage return begins the line anew, as progress bars do. */
function overwritten(line: string): string {
  return line.slice(line.lastIndexOf("\r", line.length - 2) + 1);
}

function span(part: Anser.AnserJsonEntry): Span {
  const colours = [part.fg && `${part.fg}-fg`, part.bg && `${part.bg}-bg`].filter(
    (name) => name && !name.includes("palette") && !name.includes("truecolor"),
  );
  return { text: part.content, classes: [...colours, ...part.decorations.map((name) => `ansi-${name}`)].join(" ") };
}

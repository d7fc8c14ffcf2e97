/** Which files a few typed letters may mean. Pure. */

/** A pattern of VS Code's for all paths that have these letters in this order, in either case. */
export function patternOf(query: string): string {
  const parts = query.trim().split("/").filter(Boolean);
  const steps = parts.map((part) => `*${Array.from(part).map(either).join("*")}*`);
  return steps.length === 0 ? "**/*" : `**/${steps.join("/**/")}`;
}

/** The best first: the name begins so, the name has it, the path has it; of two the shorter path. `paths` are relative. */
export function best(paths: readonly string[], query: string, limit: number): string[] {
  const wanted = query.trim().toLowerCase();
  const ranked = paths.map((path) => ({ path, rank: rankOf(path.toLowerCase(), wanted) }));
  ranked.sort((a, b) => a.rank - b.rank || a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  return ranked.slice(0, limit).map((each) => each.path);
}

function rankOf(path: string, wanted: string): number {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name.startsWith(wanted)) {
    return 0;
  }
  if (name.includes(wanted)) {
    return 1;
  }
  return path.includes(wanted) ? 2 : 3;
}

function either(character: string): string {
  const lower = character.toLowerCase();
  const upper = character.toUpperCase();
  if (lower !== upper && lower.length === 1 && upper.length === 1) {
    return `[${lower}${upper}]`;
  }
  // What means something in a pattern stands for any character: the order of what is found sorts it out.
  return /[*?[\]{},!\\]/.test(character) ? "?" : character;
}

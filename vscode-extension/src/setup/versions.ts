/** Which of two versions is the newer. Pure. */

/** Below 0 when `a` is the older one. What is no number counts as one before its release: 0.2.0rc1 is older than 0.2.0. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let at = 0; at < Math.max(left.numbers.length, right.numbers.length); at++) {
    const difference = (left.numbers[at] ?? 0) - (right.numbers[at] ?? 0);
    if (difference !== 0) {
      return difference;
    }
  }
  return Number(right.early) - Number(left.early);
}

function partsOf(version: string): { readonly numbers: readonly number[]; readonly early: boolean } {
  const [, release = "0", rest = ""] = /^v?(\d+(?:\.\d+)*)(.*)$/.exec(version.trim()) ?? [];
  return { numbers: release.split(".").map(Number), early: /^[-.]?(a|b|c|rc|dev|alpha|beta)/.test(rest) };
}

/**
 * The known name that is most similar, or null. The distance counts insertions, deletions, replacements and swaps of
 * neighbours. At most a third of the letters may differ, so that short names do not match everything; but a name may be
 * cut short, such as `alias`.
 */
function nearestName(typed: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let longer: string | null = null;
  let bestDistance = Math.floor(typed.length / 3) + 1;
  for (const name of known) {
    const distance = editDistance(typed.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
    if (typed.length >= 3 && name.startsWith(typed)) longer ??= name;
  }
  return best ?? longer;
}

function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const [letter, other] = [left[row - 1], right[column - 1]];
      const isSwapped = column > 1 && letter === right[column - 2] && left[row - 2] === other;
      const replaced = (last[column - 1] ?? 0) + (letter === other ? 0 : 1);
      const swapped = isSwapped ? (before[column - 2] ?? 0) + 1 : replaced;
      current.push(Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, replaced, swapped));
    }
    [before, last] = [last, current];
  }
  return last[right.length] ?? 0;
}

/** `, did you mean "kind"?` to append to a message, or an empty string. */
export function didYouMean(typed: string, known: Iterable<string>): string {
  const name = nearestName(typed, known);
  return name === null ? "" : `, did you mean ${JSON.stringify(name)}?`;
}

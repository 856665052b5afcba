/**
 * The known name that is most similar, or null. The distance counts insertions, deletions, replacements and swaps of
 * neighbours. At most a third of the letters may differ, so that short names do not match everything.
 */
function nearestName(typed: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Math.floor(typed.length / 3) + 1;
  for (const name of known) {
    const distance = editDistance(typed.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

function editDistance(left: string, right: string): number {
  const width = right.length + 1;
  const cost = new Uint16Array((left.length + 1) * width);
  const at = (row: number, column: number): number => cost[row * width + column] ?? 0;
  for (let row = 0; row <= left.length; row += 1) {
    for (let column = 0; column <= right.length; column += 1) {
      cost[row * width + column] = cheapestEdit(left, right, row, column, at);
    }
  }
  return at(left.length, right.length);
}

function cheapestEdit(
  left: string,
  right: string,
  row: number,
  column: number,
  at: (row: number, column: number) => number,
): number {
  if (row === 0) return column;
  if (column === 0) return row;
  const replaced = at(row - 1, column - 1) + (left[row - 1] === right[column - 1] ? 0 : 1);
  const cheapest = Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, replaced);
  const swapped =
    row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
  return swapped ? Math.min(cheapest, at(row - 2, column - 2) + 1) : cheapest;
}

/** `, did you mean "kind"?` to append to a message, or an empty string. */
export function didYouMean(typed: string, known: Iterable<string>): string {
  const name = nearestName(typed, known);
  return name === null ? "" : `, did you mean ${JSON.stringify(name)}?`;
}

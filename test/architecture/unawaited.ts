/** The lines of `expect(…).rejects` and `.resolves` that nothing awaits or returns: they would pass whatever happens. */
export function unawaitedExpectations(text: string): number[] {
  return [...text.matchAll(/\.(?:rejects|resolves)\b/g)].flatMap(({ index }) => {
    const opening = openingOf(text, index);
    if (opening === -1 || !/\bexpect$/.test(text.slice(0, opening))) return [];
    const before = text.slice(0, opening - "expect".length).trimEnd();
    return /(?:await|return|=>|[,[(])$/.test(before) ? [] : [text.slice(0, index).split("\n").length];
  });
}

/** The parenthesis that the last one before this place closes; -1 if there is none. */
function openingOf(text: string, before: number): number {
  let depth = 0;
  for (let at = before - 1; at >= 0; at -= 1) {
    if (text[at] === ")") depth += 1;
    else if (text[at] === "(") depth -= 1;
    else if (depth === 0 && !/\s/.test(text[at] ?? "")) return -1;
    if (depth === 0 && text[at] === "(") return at;
  }
  return -1;
}

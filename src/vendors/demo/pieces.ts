/**
 * The demo's own tokens: a word or a part of one, at most six characters, with the spaces before it. They are
 * what it streams and what it counts, so that its usage is exact by its own measure.
 */
export function piecesOf(text: string): string[] {
  return text.match(/\s{0,16}[^\s]{1,6}|\s{1,16}/gu) ?? [];
}

export function countPieces(text: string): number {
  return piecesOf(text).length;
}

/** Byte pair encoding takes quadratic time on a run without word breaks, so text is encoded in pieces of this length. */
const maxPieceChars = 1024;
/** How far back a split may move to a space, where it does not change the count. */
const slackChars = 128;

/** The end of the piece that begins at `from`. It depends on the text up to there alone, unless the text ends with it. */
export function endOfPiece(text: string, from: number): number {
  const to = from + maxPieceChars;
  if (to >= text.length) return text.length;
  // A piece that starts with a space is encoded as it would be within the whole text.
  const space = text.lastIndexOf(" ", to);
  if (space > to - slackChars) return space;
  return isLowSurrogate(text.charCodeAt(to)) ? to - 1 : to;
}

/**
 * Where the last piece begins, the only one that more text may change. What is in front of it can be counted alone, and
 * counts the same.
 */
export function startOfLastPiece(text: string): number {
  let from = 0;
  for (let end = endOfPiece(text, 0); end < text.length; end = endOfPiece(text, end)) from = end;
  return from;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

import { countTokens, setMergeCacheSize } from "gpt-tokenizer/encoding/o200k_base";

/**
 * Real token counts, safe against any text. Byte pair encoding takes time that grows with the square of a run
 * without word breaks (80 KB of spaces: several seconds), so text is cut into short pieces first; and text
 * that is slow all the same is counted as far as the time goes, and the rest is taken to be like it.
 *
 * Importing this loads the encoding: half a second and 100 MB. Only the worker and tests do.
 */
const longestPieceChars = 1024;
/** How far back a cut may move to fall on a space, where it changes nothing. */
const slackChars = 128;

/** The library keeps merged words; a text of unique ones must not fill the memory. */
setMergeCacheSize(20_000);

/** Special tokens such as `<|endoftext|>` are ordinary text here; by default they throw. */
const asPlainText = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };

export function countTexts(texts: readonly string[], budgetMs: number): number {
  const endMs = performance.now() + budgetMs;
  let tokens = 0;
  let counted = 0;
  let left = 0;
  for (const text of texts) {
    let from = 0;
    while (from < text.length && performance.now() < endMs) {
      const to = endOfPiece(text, from);
      tokens += countTokens(text.slice(from, to), asPlainText);
      counted += to - from;
      from = to;
    }
    left += text.length - from;
  }
  if (left === 0) return tokens;
  const perChar = counted === 0 ? 0.25 : tokens / counted;
  return tokens + Math.ceil(left * perChar);
}

function endOfPiece(text: string, from: number): number {
  const to = from + longestPieceChars;
  if (to >= text.length) return text.length;
  // A piece that begins with its space is encoded as it would be within the whole text.
  const space = text.lastIndexOf(" ", to);
  if (space > to - slackChars) return space;
  return isLowSurrogate(text.charCodeAt(to)) ? to - 1 : to;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

import { countTokens, setMergeCacheSize } from "gpt-tokenizer/encoding/o200k_base";

/**
 * Real token counts in bounded time. Byte pair encoding takes quadratic time on a run without word breaks (80 KB of
 * spaces: several seconds), so text is split into short pieces first. If it is slow all the same, the text is
 * counted until the time is up, and the rest is extrapolated, or taken as a token per byte where the most is wanted.
 *
 * Importing this module loads the encoding: half a second and 100 MB. Only the worker and tests import it.
 */
const maxPieceChars = 1024;
/**
 * This much is always counted, however long it takes, so that a busy machine does not change the count of an ordinary
 * text. The worst text of this length (random Thai) takes 400 ms of CPU time, prose 4.
 */
export const minCountedChars = 32_768;
/** How far back a split can move to a space, where it does not change the count. */
const slackChars = 128;

/** Bounds the library's cache of merged words, which a text of unique words would fill. */
setMergeCacheSize(20_000);

/** Counts special tokens such as `<|endoftext|>` as ordinary text. By default the library throws. */
const asPlainText = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };

export function countTexts(texts: readonly string[], budgetMs: number, isAtMost = false): number {
  const endMs = performance.now() + budgetMs;
  let tokens = 0;
  let counted = 0;
  let left = 0;
  let leftBytes = 0;
  for (const text of texts) {
    let from = 0;
    while (from < text.length && (counted < minCountedChars || performance.now() < endMs)) {
      const to = endOfPiece(text, from);
      tokens += countTokens(text.slice(from, to), asPlainText);
      counted += to - from;
      from = to;
    }
    left += text.length - from;
    if (isAtMost && from < text.length) leftBytes += Buffer.byteLength(text.slice(from));
  }
  if (isAtMost) return Math.max(tokens + leftBytes, minTokensInOtherEncodings(texts));
  if (left === 0) return tokens;
  const perChar = counted === 0 ? 0.25 : tokens / counted;
  return tokens + Math.ceil(left * perChar);
}

/**
 * This encoding has single tokens for words, phrases and runs of up to 48 bytes that other encodings split: Armenian
 * has 25 times as many tokens in OpenAI's older one. A hold for another vendor's model assumes no more characters per
 * token than ordinary text has.
 */
function minTokensInOtherEncodings(texts: readonly string[]): number {
  return texts.reduce((sum, text) => {
    const bytes = Buffer.byteLength(text);
    return sum + Math.floor(bytes / (bytes === text.length ? 4 : 3));
  }, 0);
}

function endOfPiece(text: string, from: number): number {
  const to = from + maxPieceChars;
  if (to >= text.length) return text.length;
  // A piece that starts with a space is encoded as it would be within the whole text.
  const space = text.lastIndexOf(" ", to);
  if (space > to - slackChars) return space;
  return isLowSurrogate(text.charCodeAt(to)) ? to - 1 : to;
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

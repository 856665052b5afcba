/**
 * Instructions to the demo in a request's text, for trying things out (docs/demo.md is the user's side of this).
 * Commands with a number can appear anywhere in the text; bare words only as a separate clause, because "cut" and
 * "fast" occur in ordinary sentences too.
 */
export interface Scenario {
  /** Respond with this error status. */
  readonly failStatus: number | null;
  readonly retryAfterSeconds: number | null;
  /** Before the first byte. */
  readonly sleepMs: number;
  /** In the middle of the response. */
  readonly pauseMs: number;
  readonly words: number | null;
  readonly usage: boolean;
  /** How the response ends in its middle, if it does. */
  readonly interruption: "cut" | "stall" | "break" | null;
  readonly pieceMs: number;
  readonly tools: boolean;
}

const maxSeconds = 600;
const maxWords = 50_000;
const humanPieceMs = 15;
const slowPieceMs = 250;

export function readScenario(text: string): Scenario {
  const clauses = new Set(
    text
      .toLowerCase()
      .split(/[,;.!?\n]+/)
      .map((clause) => clause.trim()),
  );
  const says = (clause: string) => clauses.has(clause);
  const words = numberIn(text, /\bsay (\d{1,6}) words?\b/i);
  return {
    failStatus: numberIn(text, /\bfail (?:with )?([45]\d\d)\b/i),
    retryAfterSeconds: numberIn(text, /\bretry after (\d{1,5})\b/i),
    sleepMs: secondsIn(text, /\bsleep (?:for )?(\d{1,3}(?:\.\d+)?)\b/i),
    pauseMs: secondsIn(text, /\bpause (?:for )?(\d{1,3}(?:\.\d+)?)\b/i),
    words: words === null ? null : Math.min(words, maxWords),
    usage: !says("no usage"),
    interruption: says("cut") ? "cut" : says("stall") ? "stall" : says("break") ? "break" : null,
    pieceMs: says("fast") ? 0 : says("slow") ? slowPieceMs : humanPieceMs,
    tools: !says("no tools"),
  };
}

function numberIn(text: string, pattern: RegExp): number | null {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}

function secondsIn(text: string, pattern: RegExp): number {
  return Math.min(maxSeconds, numberIn(text, pattern) ?? 0) * 1000;
}

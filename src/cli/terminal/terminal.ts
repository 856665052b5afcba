import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { nanoPerCredit } from "../../base/money/money.ts";
import type { Environment } from "../../base/system/environment.ts";
import { count, plural } from "../../base/text/plural.ts";
import { printableJson } from "../../base/text/printable.ts";
import { type Style, styleFor } from "./style.ts";

/** The environment of a command; tests supply their own. */
export interface Terminal {
  readonly env: Environment;
  readonly cwd: string;
  /** A gateway elsewhere, as `--gateway` names it. */
  readonly gateway?: string | undefined;
  /** One or more lines to stdout: the result, and nothing but the result. */
  print(text: string): void;
  /** One or more lines to stderr: notes, warnings, questions and errors. */
  note(text: string): void;
  /** Raw text to stdout. Waits while the reader is slow, so that a long export does not fill memory. */
  write(text: string): Promise<void>;
  readonly style: Style;
  readonly noteStyle: Style;
  /** Columns of stdout; null if it is not a terminal, and lines are not truncated. */
  readonly columns: number | null;
  /** Columns of stderr; null if it is not a terminal, and nothing is redrawn. */
  readonly noteColumns: number | null;
  readonly interactive: boolean;
  ask(question: string): Promise<string>;
  /** Asks for a secret, which is not shown while it is typed. */
  askSecret(question: string): Promise<string>;
}

/** A JSON result: one line, or indented on a terminal. */
export function printJson(value: unknown, terminal: Terminal): void {
  terminal.print(printableJson(value, terminal.columns === null ? 0 : 2));
}

/** Prints a result as JSON, or as a sentence. */
export function printDone(
  json: true | undefined,
  document: object,
  sentence: string,
  terminal: Terminal,
): void {
  if (json) printJson(document, terminal);
  else terminal.print(`${terminal.style.good("✓")} ${sentence}`);
}

export function processTerminal(): Terminal {
  const { stdout, stderr, stdin, env } = process;
  exitOnClosedPipe();
  return {
    env,
    cwd: process.cwd(),
    print: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    write: (text) => new Promise((resolve) => stdout.write(text, () => resolve())),
    style: styleFor(stdout.isTTY === true, env),
    noteStyle: styleFor(stderr.isTTY === true, env),
    columns: stdout.isTTY ? stdout.columns : null,
    noteColumns: stderr.isTTY ? stderr.columns : null,
    interactive: stdin.isTTY === true && stderr.isTTY === true,
    ask: (question) => askOn(stderr, question, () => {}),
    askSecret: async (question) => {
      const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
      // The terminal must not echo the secret either, from the first key press.
      try {
        return await askOn(nowhere, "", () => {
          stdin.setRawMode?.(true);
          stderr.write(question);
        });
      } finally {
        stdin.setRawMode?.(false);
        stderr.write("\n");
      }
    },
  };
}

/** Asks on `output`, which echoes the typed text if it is a terminal. */
async function askOn(output: NodeJS.WritableStream, question: string, onReady: () => void): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  onReady();
  try {
    return await lines.question(question);
  } catch (error) {
    // Ctrl-C and Ctrl-D. An empty reply would select the default.
    if (!(error instanceof Error) || error.name !== "AbortError") throw error;
    output.write("\n");
    throw new CommandError("nothing was changed");
  } finally {
    lines.close();
  }
}

/** `sluice ledger export | head` closes the pipe early, which is not an error. */
function exitOnClosedPipe(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
}

/** Credits with at least two decimals and all further non-zero ones; exact, since nothing is divided. */
export function credits(nano: number): string {
  const sign = nano < 0 ? "-" : "";
  const whole = Math.floor(Math.abs(nano) / nanoPerCredit);
  const fraction = String(Math.abs(nano) % nanoPerCredit).padStart(9, "0");
  return `${sign}${count(whole)}.${fraction.replace(/0{1,7}$/, "")}`;
}

/** An amount of credits as text. With nine decimals, a double is exact up to the highest balance. */
export function creditsShown(amount: number): string {
  return credits(Number(amount.toFixed(9).replace(".", "")));
}

/** `2026-01-31 14:05`, always UTC: budgets and days are UTC too. */
export function utcMinute(at: string | number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

/** A time to the second, for what has to be found in a log. */
export function second(at: string | number): string {
  return new Date(at).toISOString().slice(0, 19).replace("T", " ");
}

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

const halfAMinuteMs = 30_000;

/** `in 29 days`, `3 hours ago`: the largest unit that fits, rounded down except within the last half minute. */
export function fromNow(ms: number, nowMs: number): string {
  const distance = Math.abs(ms - nowMs) + halfAMinuteMs;
  for (const [name, length] of units) {
    const whole = Math.floor(distance / length);
    if (whole === 0) continue;
    const span = plural(whole, name);
    return ms > nowMs ? `in ${span}` : `${span} ago`;
  }
  return ms > nowMs ? "in less than a minute" : "just now";
}

/** A duration: `312 ms`, `4.2 s`. */
export function span(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** The command has already reported the error: status 1. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
}

/** Conflicting options or an invalid argument: status 2. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

/** A valid command that was rejected: status 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

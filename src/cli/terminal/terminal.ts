import { createInterface } from "node:readline/promises";
import type { Environment } from "../../base/environment.ts";
import { type Style, styleFor } from "./style.ts";

/** The environment of a command; tests supply their own. */
export interface Terminal {
  readonly env: Environment;
  readonly cwd: string;
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
  /** Whether a prompt can be answered. */
  readonly interactive: boolean;
  ask(question: string): Promise<string>;
}

/** A JSON result: one line, or indented on a terminal. */
export function printJson(value: unknown, terminal: Terminal): void {
  terminal.print(JSON.stringify(value, null, terminal.columns === null ? 0 : 2));
}

/** A result as JSON, or as a sentence that says what was done. */
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
  leaveQuietlyWhenReaderIsGone();
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
    ask: async (question) => {
      const lines = createInterface({ input: stdin, output: stderr });
      try {
        return await lines.question(question);
      } catch (error) {
        // Ctrl-C and Ctrl-D mean no.
        if (!(error instanceof Error) || error.name !== "AbortError") throw error;
        stderr.write("\n");
        return "";
      } finally {
        lines.close();
      }
    },
  };
}

/** `sluice ledger export | head` closes the pipe early, which is no error. */
function leaveQuietlyWhenReaderIsGone(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
}

import { run } from "../../src/cli/run.ts";
import { coloured, plain } from "../../src/cli/terminal/style.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";
import { newFolder } from "../support/new-folder.ts";

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Place {
  readonly folder: string;
  readonly env?: Record<string, string>;
  /** Columns of a terminal with colours; absent means a pipe. */
  readonly columns?: number;
  /** What the person at the terminal answers; absent if the terminal is not interactive. */
  readonly answer?: string | ((question: string) => string);
}

export function newPlace(more: Omit<Place, "folder"> = {}): Place {
  return { folder: newFolder(), ...more };
}

/** Runs one command line in this process, in a place of its own. */
export async function sluice(place: Place, ...argv: string[]): Promise<Said> {
  let stdout = "";
  let stderr = "";
  const onTerminal = place.columns !== undefined;
  const answerTo = async (question: string) => {
    stderr += `${question}\n`;
    return typeof place.answer === "function" ? place.answer(question) : (place.answer ?? "");
  };
  const terminal: Terminal = {
    env: place.env ?? {},
    cwd: place.folder,
    print: (text) => {
      stdout += `${text}\n`;
    },
    note: (text) => {
      stderr += `${text}\n`;
    },
    write: async (text) => {
      stdout += text;
    },
    style: onTerminal ? coloured : plain,
    noteStyle: onTerminal ? coloured : plain,
    columns: place.columns ?? null,
    noteColumns: place.columns ?? null,
    interactive: place.answer !== undefined,
    ask: (question) => answerTo(question),
    askSecret: (question) => answerTo(question),
  };
  return { code: await run(argv, terminal), stdout, stderr };
}

/** Runs a command that must succeed and gives what it prints as JSON. */
export async function sluiceJson<Shape>(place: Place, ...argv: string[]): Promise<Shape> {
  const { code, stdout, stderr } = await sluice(place, ...argv, "--json");
  if (code !== 0) throw new Error(`${argv.join(" ")} gave ${code}: ${stderr}`);
  return JSON.parse(stdout) as Shape;
}

export interface KeyJson {
  readonly id: string;
  readonly key?: string;
  readonly prefix: string;
  readonly label: string | null;
  readonly mode: string;
  readonly status: string;
  readonly provider_scope: string;
  readonly models: string[] | null;
  readonly rpm_limit: number | null;
  readonly expires_at: string | null;
  readonly previous_secret_until: string | null;
  readonly credit: { purchased: number; used: number; balance: number } | null;
  readonly budget: { tokens: number | null; period: string; used: number; remaining: number | null } | null;
  readonly changed?: boolean;
  readonly data_folder?: string;
  readonly topup?: { repeated: boolean };
}

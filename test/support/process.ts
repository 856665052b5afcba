import { join } from "node:path";
import type { Subprocess } from "bun";
import { isSoak } from "./effort.ts";
import { waitFor } from "./wait.ts";

const root = new URL("../..", import.meta.url).pathname;

/** What is under test: the source, `dist/sluice` when `SLUICE_TEST_TARGET=executable`, or the file that it names. */
export function target(): string {
  return process.env["SLUICE_TEST_TARGET"] ?? "source";
}

/** The command that starts it. */
export function program(): string[] {
  if (target().startsWith("/")) return [target()];
  return target() === "executable"
    ? [join(root, "dist/sluice")]
    : [process.execPath, join(root, "src/main.ts")];
}

export interface Where {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Most processes live for seconds, in which the optimizing compilers take a quarter of the CPU time, and give nothing back. */
const shortLived: Readonly<Record<string, string>> = isSoak ? {} : { BUN_JSC_useDFGJIT: "0" };

/** Runs a command to its end. */
export async function run(args: readonly string[], where: Where): Promise<CliResult> {
  const child = Bun.spawn([...program(), ...args], {
    cwd: where.cwd,
    env: { ...shortLived, ...where.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

const running = new Set<Subprocess>();

/** A test run that is ended early must not leave servers behind. */
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** A server that is up, or was. */
export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  /** Everything written so far, both outputs in the order in which they came. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
  /** The exit code; 128 and the signal's number when a signal ended it. */
  readonly exited: Promise<number>;
}

/** Starts `serve` on a free port and waits until it says that it listens. */
export async function serve(args: readonly string[], where: Where): Promise<ServerProcess> {
  const child = Bun.spawn([...program(), "serve", "--host", "127.0.0.1", "--port", "0", ...args], {
    cwd: where.cwd,
    env: { ...shortLived, ...where.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  running.add(child);
  let output = "";
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) output += decoder.decode(chunk, { stream: true });
  };
  collect(child.stdout);
  collect(child.stderr);
  const exited = child.exited.finally(() => running.delete(child));
  const address = () => /listening on (http:\/\/\S+?)["\s]/.exec(output)?.[1];
  await waitFor(() => address() !== undefined || child.exitCode !== null, "the server to listen");
  const url = address();
  if (url === undefined) throw new Error(`the server ended with ${child.exitCode}:\n${output}`);
  return { url, pid: child.pid, output: () => output, signal: (signal) => child.kill(signal), exited };
}

import { rmSync } from "node:fs";
import type { Subprocess } from "bun";

const children = new Set<Subprocess>();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

export interface StartedServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface ServerCommand {
  readonly command: readonly string[];
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What it prints when it serves; the first group is the port. */
  readonly ready?: RegExp;
  /** How long it may take until it serves. */
  readonly waitMs?: number;
}

/** Starts a server with its output in a file, as under a service manager, and waits until it serves. */
export async function startServer(options: ServerCommand): Promise<StartedServer> {
  const {
    command,
    logFile,
    env = {},
    waitMs = 60_000,
    ready = /listening on http:\/\/[\d.]+:(\d+)/,
  } = options;
  // The address is read from the log, so it must not be the one of an earlier start.
  rmSync(logFile, { force: true });
  const child = Bun.spawn([...command], {
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...env },
    stdin: "ignore",
    stdout: Bun.file(logFile),
    stderr: Bun.file(`${logFile}.err`),
  });
  track(child);
  const port = await waitForPort(child, logFile, ready, waitMs);
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid,
    async stop() {
      child.kill("SIGTERM");
      const killer = setTimeout(() => child.kill("SIGKILL"), 5000);
      await child.exited;
      clearTimeout(killer);
    },
  };
}

export function track(child: Subprocess): void {
  children.add(child);
  child.exited.finally(() => children.delete(child));
}

async function waitForPort(
  child: Subprocess,
  logFile: string,
  ready: RegExp,
  waitMs: number,
): Promise<string> {
  for (let waitedMs = 0; waitedMs < waitMs; waitedMs += 20) {
    const port = ready.exec(await textOf(logFile))?.[1];
    if (port !== undefined) return port;
    if (child.exitCode !== null) break;
    await Bun.sleep(20);
  }
  const said = (await textOf(logFile)) + (await textOf(`${logFile}.err`));
  throw new Error(`a server did not start; it said:\n${said.slice(-2000)}`);
}

async function textOf(file: string): Promise<string> {
  const source = Bun.file(file);
  return (await source.exists()) ? source.text() : "";
}

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../../support/new-folder.ts";

/** A home and a place to work in, with the files of an errand. */
export class Workshop {
  readonly #root = newFolder();
  readonly home = join(this.#root, "home");
  readonly work = join(this.#root, "work");

  constructor(files: Readonly<Record<string, string | Uint8Array>>) {
    mkdirSync(this.home);
    mkdirSync(this.work);
    for (const [name, data] of Object.entries(files)) writeFileSync(join(this.work, name), data);
  }

  /** The text of a file that the agent's task was to create; empty if there is none. */
  async read(name: string): Promise<string> {
    const file = Bun.file(join(this.work, name));
    return (await file.exists()) ? file.text() : "";
  }

  [Symbol.dispose](): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}

export interface AgentRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Long enough for a busy machine; an agent that keeps retrying must not hang the tests. */
export const agentTimeoutMs = 100_000;

/** Passes nothing of this machine's environment, so that no proxy, key or personal setting is used. */
export async function runAgent(
  command: readonly string[],
  { home, work }: Workshop,
  env: Readonly<Record<string, string>>,
): Promise<AgentRun> {
  const child = Bun.spawn([...command], {
    cwd: work,
    env: { PATH: process.env["PATH"] ?? "", HOME: home, TERM: "dumb", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: agentTimeoutMs,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

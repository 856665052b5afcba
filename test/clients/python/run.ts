import { join } from "node:path";

/** Runs a script beside this file: the task on stdin as JSON, an outcome on each line of stdout. */
export async function runPython<Outcome>(python: string, script: string, task: object): Promise<Outcome[]> {
  const child = Bun.spawn([python, join(import.meta.dir, script)], {
    stdin: new Blob([JSON.stringify(task)]),
    stdout: "pipe",
    stderr: "inherit",
    env: { PATH: process.env["PATH"] ?? "", NO_PROXY: "127.0.0.1" },
    timeout: 280_000,
  });
  const lines = (await new Response(child.stdout).text()).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line));
}

import { join } from "node:path";

/** A short run has nothing to gain from collecting garbage, which takes a sixth of its time. */
const runScript = "import gc, runpy, sys; gc.disable(); runpy.run_path(sys.argv[1], run_name='__main__')";
/** A file with one certificate: every client reads it again, and nothing here speaks TLS. */
const authority = new URL("../../wire/tls/authority.pem", import.meta.url).pathname;

/** For hooks and tests that wait for a script: a slow machine takes its time, and only silence ends a script. */
export const pythonTimeoutMs = 1_800_000;
const maxSilenceMs = 180_000;

/** Runs a script of this folder: the task on stdin as JSON, an outcome on each line of stdout. */
export async function runPython<Outcome>(python: string, script: string, task: object): Promise<Outcome[]> {
  const child = Bun.spawn([python, "-c", runScript, join(import.meta.dir, script)], {
    stdin: new Blob([JSON.stringify(task)]),
    stdout: "pipe",
    stderr: "inherit",
    env: { PATH: process.env["PATH"] ?? "", NO_PROXY: "127.0.0.1", SSL_CERT_FILE: authority },
  });
  let text = "";
  let silence = setTimeout(() => child.kill("SIGKILL"), maxSilenceMs);
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    clearTimeout(silence);
    silence = setTimeout(() => child.kill("SIGKILL"), maxSilenceMs);
  }
  clearTimeout(silence);
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line));
}

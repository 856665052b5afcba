const root = new URL("../..", import.meta.url).pathname;

/** The outcome of one request. */
export type ProcessResponse = { readonly status: number; readonly text: string } | { readonly code: string };

/** Sends requests from a separate process, which must exit by itself. */
export async function requestInProcess(
  baseUrl: string,
  times: number,
  env: Readonly<Record<string, string>>,
): Promise<ProcessResponse[]> {
  const child = Bun.spawn([process.execPath, "test/wire/request-process.ts", baseUrl, String(times)], {
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  const [output, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code !== 0) throw new Error(`the process ended with ${code}`);
  return output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

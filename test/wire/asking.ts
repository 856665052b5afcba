const root = new URL("../..", import.meta.url).pathname;

/** What a process of its own was told by a provider: a line for each time that it asked. */
export type Told = { readonly status: number; readonly text: string } | { readonly code: string };

/** Asks in a process of its own, which must end by itself. */
export async function askAsProcess(
  baseUrl: string,
  times: number,
  env: Readonly<Record<string, string>>,
): Promise<Told[]> {
  const child = Bun.spawn([process.execPath, "test/wire/asking-process.ts", baseUrl, String(times)], {
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

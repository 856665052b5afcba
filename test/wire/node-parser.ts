const script = new URL("node-parser-process.mjs", import.meta.url).pathname;

/** How Node reads an answer. */
export interface NodeReading {
  /** The code of its error: `HPE_…` from its parser, `ECONNRESET` where the answer breaks off. */
  readonly problem: string | null;
  readonly status: number | null;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: string;
  readonly isComplete: boolean;
}

/** Null if Node is not installed. */
export const nodePath = Bun.which("node");

/** Reads answers with Node's parser, which is strict by default. */
export async function readByNode(answers: readonly Uint8Array[]): Promise<NodeReading[]> {
  if (nodePath === null) throw new Error("there is no Node");
  const lines = answers.map((bytes) => JSON.stringify(Buffer.from(bytes).toString("base64")));
  const child = Bun.spawn([nodePath, "--max-http-header-size=131072", script], {
    stdin: new Blob([`${lines.join("\n")}\n`]),
    stdout: "pipe",
    stderr: "inherit",
    env: { PATH: process.env["PATH"] ?? "" },
  });
  const [output, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  const readings: NodeReading[] = output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  if (code !== 0 || readings.length !== answers.length) throw new Error(`Node ended with ${code}`);
  return readings;
}

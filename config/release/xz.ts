import { ReleaseFailure } from "./failure.ts";

/** `quick` is for trials: the same contents in a sixth of the time, and a fifth larger. */
export type Effort = "best" | "quick";

/** One thread: with more of them the blocks, and so the bytes, depend on the number of cores. */
export async function xz(bytes: Uint8Array<ArrayBuffer>, effort: Effort): Promise<Uint8Array> {
  if (Bun.which("xz") === null) throw new ReleaseFailure("`xz` is not installed, and archives need it");
  const preset = effort === "best" ? "-9e" : "-0";
  const child = Bun.spawn(["xz", preset, "--threads=1", "--check=crc32", "--stdout"], {
    stdin: bytes,
    stderr: "inherit",
  });
  const [packed, code] = await Promise.all([new Response(child.stdout).bytes(), child.exited]);
  if (code !== 0) throw new ReleaseFailure(`xz ended with ${code}`);
  return packed;
}

import { readlinkSync, writeSync as write } from "node:fs";
import { openRecord } from "./record.ts";

export * from "node:fs";

/** Notes what is written to the log. The shim does not see it, because Bun makes its system calls without the C library. */
export function writeSync(
  descriptor: number,
  data: Uint8Array,
  from: number,
  length: number,
  at: number,
): number {
  const written = write(descriptor, data, from, length, at);
  const isLog = readlinkSync(`/proc/self/fd/${descriptor}`) === `${process.env["RECORDED_FILE"]}-wal`;
  if (isLog) record.add("W", "w", at, data.subarray(from, from + written));
  return written;
}

const record = openRecord(process.env["RECORDED_LOG"] ?? "");

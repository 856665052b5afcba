/**
 * Preloaded into a gateway: writes the longest turn of its event loop, in milliseconds of the main thread's CPU time, into the file
 * that `TURN_WATCH` names. CPU time, because a busy machine delays turns that are short.
 */
import { closeSync, openSync, readSync } from "node:fs";

const file = process.env["TURN_WATCH"];
if (file !== undefined) {
  const longestMs = new Float64Array(Bun.mmap(file).buffer);
  const stat = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  const buffer = Buffer.alloc(64);
  const workedMs = () => {
    const length = readSync(stat, buffer, 0, 64, 0);
    return Number(buffer.toString("latin1", 0, length).split(" ")[0]) / 1e6;
  };
  process.on("exit", () => closeSync(stat));
  let before = workedMs();
  setInterval(() => {
    const now = workedMs();
    longestMs[0] = Math.max(longestMs[0] ?? 0, now - before);
    before = now;
  }, 1).unref();
}

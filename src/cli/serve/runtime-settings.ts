import { fetchLimitVariable, maxFetchLimit } from "../../base/system/fetch-limit.ts";

/**
 * By default the allocator returns memory to the system after 0.1 s, and scans for free pieces of used pages nearly as often. A
 * busy gateway needs that memory again at once: a stream of 200 events had 13 page faults and has 4 if freed memory is kept
 * for 1 s and the scan runs every 2 s, which saves 5% of its CPU and 2% of a short request's. What a rush has used is returned
 * within three seconds, once idle-collection.ts has freed it.
 */
const allocator: Readonly<Record<string, string>> = {
  MIMALLOC_PURGE_DELAY: "1000",
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "2000",
};

/**
 * Forms with files are sent with `fetch`, and so is everything behind a proxy. Bun runs at most 256 of these at once and
 * queues the rest silently. How many of them are forms of one key is bounded where forms are admitted.
 */
const fetches: Readonly<Record<string, string>> = { [fetchLimitVariable]: String(maxFetchLimit) };

/** Every variable that `serve` runs with. */
export const runtimeSettings: Readonly<Record<string, string>> = { ...allocator, ...fetches };

/**
 * The runtime reads these variables before any of our code, so this replaces the process with the same program and
 * the variables set (`execve`: same process id, same open files). Variables set by the operator are kept. If it is
 * not possible, the gateway runs without them. docs/deploy.md describes this for operators.
 */
export function applyRuntimeSettings(): void {
  const missing = Object.entries(runtimeSettings).filter(([name]) => process.env[name] === undefined);
  if (missing.length === 0 || typeof process.execve !== "function") return;
  const compiled = Bun.main.startsWith("/$bunfs/");
  const rest = compiled ? process.argv.slice(2) : [...process.execArgv, ...process.argv.slice(1)];
  const env = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  try {
    process.execve(process.execPath, [process.execPath, ...rest], { ...env, ...Object.fromEntries(missing) });
  } catch {
    // The gateway runs with the defaults.
  }
}

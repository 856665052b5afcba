import { fetchLimitVariable, maxFetchLimit } from "../../base/system/fetch-limit.ts";

/**
 * By default the allocator returns freed memory to the system after 0.1 s, and a busy gateway needs it again at once.
 * Of 32,000 short requests, page faults and returning pages took 9% of the CPU time by default, and 3% if freed memory
 * is kept for 1 s and looked for every 2 s. It is returned within three seconds once idle-collection.ts has freed it.
 */
const allocator = { MIMALLOC_PURGE_DELAY: "1000", MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "2000" };

/**
 * Variables of the runtime for `serve`. Forms with files are sent with `fetch`, and so is everything through a proxy. By
 * default Bun runs 256 of these at once, and further calls wait silently. The forms of one key are limited where forms
 * are admitted.
 */
export const runtimeSettings: Readonly<Record<string, string>> = {
  ...allocator,
  [fetchLimitVariable]: String(maxFetchLimit),
};

/**
 * The runtime reads these variables before any of our code, so this replaces the process with the same program and the
 * variables set (`execve`: same process id, same open files). Variables set by the operator are kept. If it is not
 * possible, the gateway runs without them. docs/architecture.md describes this for operators.
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

import { fetchLimitVariable, maxFetchLimit } from "../../base/system/fetch-limit.ts";

/**
 * Forms with files are sent with `fetch`, and so is everything behind a proxy. Bun runs at most 256 of these at once and
 * queues the rest silently. How many of them are forms of one key is bounded where forms are admitted.
 */
export const runtimeSettings: Readonly<Record<string, string>> = {
  [fetchLimitVariable]: String(maxFetchLimit),
};

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

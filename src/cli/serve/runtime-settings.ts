import { fetchLimitVariable, maxFetchLimit } from "../../base/system/fetch-limit.ts";

/**
 * Bun's settings for `serve`. Forms with files are sent with `fetch`, and so is everything through a proxy. By default
 * Bun runs 256 of these at once, and further calls wait silently. The forms of one key are limited where forms are
 * admitted.
 */
export const runtimeSettings: Readonly<Record<string, string>> = {
  [fetchLimitVariable]: String(maxFetchLimit),
};

/**
 * The runtime reads its variables before any of our code, so this replaces the process with the same program and the variable set
 * (`execve`: same process id, same open files). A variable set by the operator is kept. If it is not possible, the gateway runs
 * without it. docs/deploy.md describes this for operators.
 */
export function applyRuntimeSettings(): void {
  if (process.env[fetchLimitVariable] !== undefined || typeof process.execve !== "function") return;
  const compiled = Bun.main.startsWith("/$bunfs/");
  const rest = compiled ? process.argv.slice(2) : [...process.execArgv, ...process.argv.slice(1)];
  const env = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  try {
    process.execve(process.execPath, [process.execPath, ...rest], { ...env, ...runtimeSettings });
  } catch {
    // The gateway runs with the default.
  }
}

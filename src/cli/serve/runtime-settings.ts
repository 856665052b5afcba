import { fetchLimitVariable, maxFetchLimit } from "../../base/system/fetch-limit.ts";

/**
 * What `serve` runs with. Forms with files are sent with `fetch`, and so is everything behind a proxy. By default Bun runs 256 of
 * these at once, and every further call waits in silence until another has ended. How many of them are forms of one key is bounded
 * where forms are admitted.
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

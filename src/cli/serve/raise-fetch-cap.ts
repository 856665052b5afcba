import { isProxyNamed } from "../../wire/proxy.ts";

const variable = "BUN_CONFIG_MAX_HTTP_REQUESTS";
/** One less than the value at which Bun falls back to its default. */
const cap = "65535";

/**
 * Providers behind a proxy are reached by `fetch`, of which Bun runs at most 256 at once and queues the rest in
 * silence: the 257th stream of a gateway would hang. It reads the cap before any of our code, so this starts the same program again with the
 * cap raised, in place: same process, same id, same files. Where that is not possible the gateway works
 * as it is, with the smaller cap.
 */
export function raiseFetchCap(): void {
  if (!isProxyNamed("http:") && !isProxyNamed("https:")) return;
  if (process.env[variable] !== undefined || typeof process.execve !== "function") return;
  const compiled = Bun.main.startsWith("/$bunfs/");
  const rest = compiled ? process.argv.slice(2) : [...process.execArgv, ...process.argv.slice(1)];
  const env = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  try {
    process.execve(process.execPath, [process.execPath, ...rest], { ...env, [variable]: cap });
  } catch {
    // The system does not offer it; the smaller cap it is.
  }
}

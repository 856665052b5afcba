import { isProxyNamed } from "../../wire/proxy.ts";

/**
 * The allocator gives memory back to the system after a tenth of a second, and looks for free pieces of pages that are
 * in use nearly as often. A busy gateway takes it all again at once: that was a ninth of a request's CPU. So freed
 * memory stays for a second, and pieces are looked for every five; most of it is back ten seconds after a rush.
 */
const allocator: Readonly<Record<string, string>> = {
  MIMALLOC_PURGE_DELAY: "1000",
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "5000",
};

/**
 * Providers behind a proxy are reached by `fetch`, of which Bun runs at most 256 at once and queues the rest in
 * silence: the 257th stream of a gateway would hang. This is one less than the value at which Bun falls back to its default.
 */
const fetches: Readonly<Record<string, string>> = { BUN_CONFIG_MAX_HTTP_REQUESTS: "65535" };

/**
 * The runtime reads these before any of our code, so this starts the same program again with them in its
 * environment, in place: same process, same id, same files. What the operator has set stays. Where the system does
 * not offer it the gateway works as it is.
 */
export function applyRuntimeSettings(): void {
  const wanted = { ...allocator, ...(isProxyNamed("http:") || isProxyNamed("https:") ? fetches : {}) };
  const missing = Object.entries(wanted).filter(([name]) => process.env[name] === undefined);
  if (missing.length === 0 || typeof process.execve !== "function") return;
  const compiled = Bun.main.startsWith("/$bunfs/");
  const rest = compiled ? process.argv.slice(2) : [...process.execArgv, ...process.argv.slice(1)];
  const env = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  try {
    process.execve(process.execPath, [process.execPath, ...rest], { ...env, ...Object.fromEntries(missing) });
  } catch {
    // The smaller cap and the busier allocator it is.
  }
}

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

const version = "1.15.2";

/** The peer's start script, installed into the cache on first use; a reason when it cannot be had. */
export async function providePortkey(cache: string): Promise<{ script: string } | { reason: string }> {
  if (Bun.which("node") === null || Bun.which("npm") === null) return { reason: "node or npm is missing" };
  const folder = join(cache, `portkey-${version}`);
  const script = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");
  if (existsSync(script)) return { script };
  mkdirSync(folder, { recursive: true });
  const install = Bun.spawn(
    ["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", `@portkey-ai/gateway@${version}`],
    { stdin: "ignore", stdout: "ignore", stderr: "ignore" },
  );
  const killer = setTimeout(() => install.kill(), 90_000);
  const code = await install.exited;
  clearTimeout(killer);
  return code === 0 && existsSync(script) ? { script } : { reason: "npm could not install it" };
}

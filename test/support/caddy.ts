import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "./new-folder.ts";
import { untilHealthy } from "./nginx.ts";

/** Null where it is not installed. */
export const caddyProgram = Bun.which("caddy");

/** Runs Caddy with these sites, and waits until it answers at the address. */
export async function startCaddy(program: string, sites: string, url: string): Promise<{ stop(): void }> {
  const folder = newFolder();
  const file = join(folder, "Caddyfile");
  writeFileSync(file, `{\n\tadmin off\n\tauto_https off\n}\n${sites}`);
  const child = Bun.spawn([program, "run", "--config", file, "--adapter", "caddyfile"], {
    env: { HOME: folder },
    stdout: "ignore",
    stderr: "ignore",
  });
  await untilHealthy(url, "Caddy");
  return {
    stop: () => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "./new-folder.ts";
import { untilHealthy } from "./nginx.ts";

/** Null where it is not installed. */
export const haproxyProgram = Bun.which("haproxy") ?? Bun.which("/usr/sbin/haproxy");

/** Runs HAProxy with this configuration, and waits until it answers at the address. */
export async function startHaproxy(program: string, text: string, url: string): Promise<{ stop(): void }> {
  const folder = newFolder();
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, text);
  const child = Bun.spawn([program, "-db", "-f", file], { stdout: "ignore", stderr: "ignore" });
  await untilHealthy(url, "HAProxy");
  return {
    stop: () => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "./new-folder.ts";
import { untilHealthy } from "./nginx.ts";

const program = Bun.which("apache2") ?? Bun.which("/usr/sbin/apache2");
const modules = "/usr/lib/apache2/modules";

/** Null where it is not installed, or not as Debian installs it. */
export const apacheProgram = existsSync(modules) ? program : null;

/** What Debian loads by default and the example adds, as far as the example has to do with it. */
const loaded = ["mpm_event", "authz_core", "alias", "env", "headers", "reqtimeout", "proxy", "proxy_http"];

/** Runs Apache with this site, and waits until it answers at the address. */
export async function startApache(apache: string, site: string, url: string): Promise<{ stop(): void }> {
  const folder = newFolder();
  const file = join(folder, "apache.conf");
  writeFileSync(
    file,
    `ServerRoot ${folder}\nServerName localhost\nPidFile ${folder}/pid\nDefaultRuntimeDir ${folder}\nErrorLog ${folder}/error.log\nListen ${new URL(url).host}\n` +
      `${loaded.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`).join("\n")}\n` +
      `${process.getuid?.() === 0 ? "User www-data\nGroup www-data\n" : ""}${site}`,
  );
  const child = Bun.spawn([apache, "-DFOREGROUND", "-f", file], { stdout: "ignore", stderr: "inherit" });
  await untilHealthy(url, "Apache");
  return {
    stop: () => {
      // Killed, it would leave its workers behind.
      child.kill("SIGTERM");
      void child.exited.then(() => rmSync(folder, { recursive: true, force: true }));
    },
  };
}

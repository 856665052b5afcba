import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "./new-folder.ts";
import { waitFor } from "./wait.ts";

/** Null where it is not installed. */
export const nginxProgram = Bun.which("nginx") ?? Bun.which("/usr/sbin/nginx");

export interface NginxProcess {
  stop(): void;
}

/** Runs nginx with this inside of `http { … }`, and waits until it answers at the address. */
export async function startNginx(program: string, http: string, url: string): Promise<NginxProcess> {
  const folder = newFolder();
  mkdirSync(join(folder, "temp"));
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/temp/${name};`)
    .join("\n");
  const file = join(folder, "nginx.conf");
  writeFileSync(
    file,
    `daemon off;\nmaster_process off;\npid ${folder}/pid;\nerror_log ${folder}/error.log;\nevents {}\nhttp {\naccess_log off;\n${temporary}\n${http}\n}\n`,
  );
  const child = Bun.spawn([program, "-e", join(folder, "error.log"), "-c", file], { stderr: "inherit" });
  await untilHealthy(url, "nginx");
  return {
    stop: () => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until the gateway is reached through a proxy. */
export function untilHealthy(url: string, proxy: string): Promise<void> {
  const isHealthy = () =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  return waitFor(isHealthy, `${proxy} to listen`);
}

import { readFileSync } from "node:fs";
import { apacheProgram, startApache } from "./apache.ts";
import { caddyProgram, startCaddy } from "./caddy.ts";
import { haproxyProgram, startHaproxy } from "./haproxy.ts";
import { nginxProgram, startNginx } from "./nginx.ts";

export interface Proxy {
  readonly program: string | null;
  /** Starts the example in front of an address: as it is shipped, but for addresses and TLS. */
  start(program: string, target: string, url: string): Promise<{ stop(): void }>;
}

/** By their names. */
export const proxies: Readonly<Record<string, Proxy>> = {
  nginx: {
    program: nginxProgram,
    start: (program, target, url) => startNginx(program, nginxExample(target, url), url),
  },
  Caddy: {
    program: caddyProgram,
    start: (program, target, url) =>
      startCaddy(program, proxyExample("Caddyfile", target).replace("sluice.example {", `${url} {`), url),
  },
  HAProxy: {
    program: haproxyProgram,
    start: (program, target, url) =>
      startHaproxy(
        program,
        proxyExample("haproxy.cfg", target).replace(/^ *bind .*$/m, `    bind ${new URL(url).host}`),
        url,
      ),
  },
  Apache: {
    program: apacheProgram,
    start: (program, target, url) =>
      startApache(
        program,
        proxyExample("apache.conf", target)
          .replace("*:443", new URL(url).host)
          .replace(/^ *SSL.*\n/gm, ""),
        url,
      ),
  },
};

export function nginxExample(target: string, url: string): string {
  return proxyExample("nginx.conf", target)
    .replace("listen 443 ssl;", `listen ${new URL(url).host};`)
    .replace(/^\s*listen \[::\]:443 ssl;\n/m, "")
    .replace(/^\s*ssl_certificate.*\n/gm, "");
}

export function proxyExample(name: string, target: string): string {
  const text = readFileSync(new URL(`../../config/deploy/${name}`, import.meta.url), "utf8");
  return text.replaceAll("127.0.0.1:8787", new URL(target).host);
}

import { isIP } from "node:net";

/** Whether the environment names a proxy for this protocol. The variables are those that `fetch` reads. */
export function isProxyNamed(protocol: "http:" | "https:"): boolean {
  return isSet(protocol === "https:" ? "https_proxy" : "http_proxy") || isSet("all_proxy");
}

/** Whether `fetch` must be used for this URL. Servers on this machine are called directly. */
export function isBehindProxy({ protocol, hostname }: URL): boolean {
  if (hostname === "localhost" || hostname === "[::1]") return false;
  if (isIP(hostname) === 4 && hostname.startsWith("127.")) return false;
  return isProxyNamed(protocol === "https:" ? "https:" : "http:");
}

function isSet(name: string): boolean {
  return Boolean(process.env[name]) || Boolean(process.env[name.toUpperCase()]);
}

import { isIP } from "node:net";

/** Whether requests of this protocol go through a proxy that the environment names, as `fetch` understands it. */
export function isProxyNamed(protocol: "http:" | "https:"): boolean {
  return isSet(protocol === "https:" ? "https_proxy" : "http_proxy") || isSet("all_proxy");
}

/** A proxy from the environment is for the world outside, not for this machine. */
export function isBehindProxy({ protocol, hostname }: URL): boolean {
  if (hostname === "localhost" || hostname === "[::1]") return false;
  if (isIP(hostname) === 4 && hostname.startsWith("127.")) return false;
  return isProxyNamed(protocol === "https:" ? "https:" : "http:");
}

function isSet(name: string): boolean {
  return Boolean(process.env[name]) || Boolean(process.env[name.toUpperCase()]);
}

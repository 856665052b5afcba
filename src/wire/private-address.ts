import { isLoopback } from "./proxy.ts";

/** Whether an address is on this machine or in a private network, by its name or number alone. */
export function isPrivateAddress(address: string): boolean {
  const hostname = URL.parse(address)?.hostname ?? "";
  if (isLoopback(address)) return true;
  if (/^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[f[cd])/.test(hostname)) return true;
  return /^[a-z0-9-]+$|\.(?:local|lan|internal)$/.test(hostname);
}

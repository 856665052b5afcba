/** Whether the environment names a proxy for this protocol. The variables are those that `fetch` reads. */
function isProxyNamed(protocol: "http:" | "https:"): boolean {
  return isSet(protocol === "https:" ? "https_proxy" : "http_proxy") || isSet("all_proxy");
}

/** Whether `fetch` must be used for this URL. Servers on this machine are called directly. */
export function isBehindProxy(url: URL): boolean {
  return !isLoopback(url) && isProxyNamed(url.protocol === "https:" ? "https:" : "http:");
}

/** Whether an address is on this machine, where plain `http` is safe. */
export function isLoopback(address: string | URL): boolean {
  const hostname = URL.parse(String(address))?.hostname ?? "";
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}

function isSet(name: string): boolean {
  return Boolean(process.env[name]) || Boolean(process.env[name.toUpperCase()]);
}

/** Whether an address is on this machine or in a private network, by its name or number alone. */
export function isPrivateAddress(address: string): boolean {
  const hostname = URL.parse(address)?.hostname ?? "";
  if (isLoopback(address)) return true;
  if (/^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[f[cd])/.test(hostname)) return true;
  return /^[a-z0-9-]+$|\.(?:local|lan|internal)$/.test(hostname);
}

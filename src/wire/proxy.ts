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

/** Whether an address is on this machine, where plain `http` is safe. */
export function isLoopback(address: string): boolean {
  const hostname = URL.parse(address)?.hostname ?? "";
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}

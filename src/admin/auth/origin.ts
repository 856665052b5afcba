/**
 * Whether a request that changes something comes from our own page. Browsers say where a request comes from
 * in `Origin`; a foreign page cannot forge it. Only the host is compared, because behind a proxy that ends
 * TLS the scheme that we see is not the one that the browser saw. Programs send none, and carry no cookie.
 */
export function isOwnOrigin(request: Request, needed: boolean): boolean {
  const origin = request.headers.get("origin");
  if (origin === null) return !needed;
  try {
    return new URL(origin).host === hostOf(request);
  } catch {
    return false;
  }
}

function hostOf(request: Request): string {
  return request.headers.get("host") ?? new URL(request.url).host;
}

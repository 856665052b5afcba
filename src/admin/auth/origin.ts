/**
 * Whether a request that changes something comes from our own page. Browsers send the page's origin in `Origin`,
 * which another page cannot forge. Only the host is compared, because behind a proxy that terminates TLS the scheme
 * differs. Programs send no `Origin` and no cookie.
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

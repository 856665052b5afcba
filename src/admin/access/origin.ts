import type { AdminSettings } from "../../config/settings.ts";
import { urlOf } from "../../gateway/exchange/client-call.ts";

type Address = Pick<AdminSettings, "publicUrl">;

export const foreignOrigin =
  "Changes must come from this gateway's own page. If a proxy in front does not pass on Host, set admin.public_url to the address in the browser.";

/**
 * Whether a request that changes something comes from our own page. Browsers send the page's origin in `Origin`,
 * which another page cannot forge. It must be the public address where one is configured. Otherwise only the host is compared,
 * because behind a proxy that terminates TLS the scheme differs. Programs send no `Origin` and no cookie.
 */
export function isOwnOrigin(request: Request, { publicUrl }: Address, needed: boolean): boolean {
  const site = request.headers.get("sec-fetch-site");
  if (site === "cross-site" || site === "same-site") return false;
  const text = request.headers.get("origin");
  if (text === null) return !needed;
  const origin = URL.parse(text);
  if (origin === null) return false;
  if (publicUrl !== null) return origin.origin === new URL(publicUrl).origin;
  return origin.host === (request.headers.get("host") ?? URL.parse(request.url)?.host);
}

/**
 * The gateway's origin as the browser sees it: a trusted proxy may have terminated TLS. Browsers never send an invalid
 * Host.
 */
export function originInBrowser(request: Request, isFromProxy: boolean, { publicUrl }: Address): string {
  if (publicUrl !== null) return new URL(publicUrl).origin;
  const url = URL.parse(request.url) ?? urlOf({ request });
  return isFromProxy && isForwardedTls(request) ? `https://${url.host}` : url.origin;
}

/** Whether the browser used TLS. Its own `Origin` counts most, because it may not be at the public address. */
export function isOverTls(request: Request, isFromProxy: boolean, address: Address): boolean {
  if (isFromProxy && isForwardedTls(request)) return true;
  const origin = request.headers.get("origin") ?? originInBrowser(request, isFromProxy, address);
  return origin.startsWith("https:");
}

/** With several proxies, the first one saw the browser. */
function isForwardedTls(request: Request): boolean {
  return /^https\s*(,|$)/i.test(request.headers.get("x-forwarded-proto") ?? "");
}

import type { ProviderSettings } from "./provider.ts";
import { vendorOf } from "./registry.ts";

/**
 * Schemes of public addresses. Any other (`gs:`, `s3:`, Moonshot's `ms:`, …) is cloud storage or a provider's own files, which it
 * opens with the operator's account.
 */
const open: ReadonlySet<string> = new Set(["http:", "https:", "ftp:", "data:"]);

/** Whether an address names something stored by the provider, which it would look up in the operator's account. */
export function isOwnAddress({ kind, baseUrl }: ProviderSettings, address: string): boolean {
  const scheme = /^[a-z][a-z\d+.-]*:/i.exec(address.trimStart())?.[0];
  if (scheme !== undefined && !open.has(scheme.toLowerCase())) return true;
  const host = hostOf(address);
  return host !== null && (host === hostOf(baseUrl) || host === hostOf(vendorOf(kind).baseUrl.default ?? ""));
}

/** Null if it is not a web address; one without a scheme may be one. */
function hostOf(address: string): string | null {
  const url = URL.parse(address.trimStart().startsWith("//") ? `https:${address.trimStart()}` : address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return url.host.replace(/\.(?=:|$)/, "");
}

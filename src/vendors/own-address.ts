import { vendorOf } from "./registry.ts";
import type { ProviderSettings } from "./settings.ts";

/** Files that a provider opens with the operator's account, not as anybody could: those of its own API, and of clouds. */
const storage = /^(?:gs|gcs|s3|oss|cos|tos|abfss?|wasbs?|dbfs|azureml|file-service|sediment|files?):/i;

/** Whether an address names something that the provider keeps, so that it would look it up in the operator's account. */
export function isOwnAddress({ kind, baseUrl }: ProviderSettings, address: string): boolean {
  if (storage.test(address.trimStart())) return true;
  const host = hostOf(address);
  return host !== null && (host === hostOf(baseUrl) || host === hostOf(vendorOf(kind).baseUrl.default ?? ""));
}

/** Null for what is no address on the web. */
function hostOf(address: string): string | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return url.host.replace(/\.(?=:|$)/, "");
}

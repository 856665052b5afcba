import type { LoadContext } from "./context.ts";
import type { ConfigFile } from "./schema.ts";
import { readSecret } from "./secrets.ts";
import type { Settings } from "./settings.ts";

/** Off, with a warning, if the address or the secret is not set: without the secret they would go out unsigned. */
export function alertSettings({ alerts }: ConfigFile, context: LoadContext): Settings["alerts"] {
  if (alerts === undefined || !context.problems.isValidAt("alerts")) return null;
  const url = secretOf("alerts.url", alerts.url, context);
  const secret = alerts.secret === undefined ? null : secretOf("alerts.secret", alerts.secret, context);
  if (url === null || (secret === null && alerts.secret !== undefined)) return null;
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return { url, secret };
  context.problems.add("alerts.url", "must be an address that begins with http:// or https://");
  return null;
}

function secretOf(path: string, reference: string, context: LoadContext): string | null {
  const secret = readSecret(reference, context);
  if (secret.kind === "value") return secret.value;
  if (secret.kind === "problem") context.problems.add(path, secret.message);
  else context.warnings.push(`alerts are off: ${secret.reason}`);
  return null;
}

import type { LoadContext } from "./context.ts";
import { isReference, readSecret } from "./secrets.ts";

const secretName = /authorization|api-?key|token|secret|password/i;

export interface ResolvedHeaders {
  readonly headers: Readonly<Record<string, string>>;
  /** Why a header's secret is missing; null if none is. */
  readonly unset: string | null;
}

/** Values may be plain or refer to a secret. A header whose name suggests a secret must refer to one. */
export function resolveHeaders(
  configured: Readonly<Record<string, string>> | undefined,
  path: string,
  context: LoadContext,
): ResolvedHeaders {
  const headers: Record<string, string> = {};
  let unset: string | null = null;
  for (const [name, value] of Object.entries(configured ?? {})) {
    const at = `${path}.${name}`;
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) context.problems.add(at, "is not a header's name");
    if (!isReference(value) && !secretName.test(name)) {
      headers[name.toLowerCase()] = value;
      continue;
    }
    const secret = readSecret(value, context);
    if (secret.kind === "value") headers[name.toLowerCase()] = secret.value;
    else if (secret.kind === "problem") context.problems.add(at, secret.message);
    else unset = secret.reason;
  }
  return { headers, unset };
}

import { isSendable } from "../dialects/headers.ts";
import type { LoadContext } from "./problems.ts";
import { isReference, readSecret, type Secret } from "./secrets.ts";

const secretName = /authorization|api-?key|token|secret|password/i;
const unsendable = "has a line break or a character outside Latin-1, or is too long for a header";

/**
 * Values may be plain or refer to a secret. A header whose name suggests a secret must refer to one. `unset` explains
 * why a secret is missing; null if none is.
 */
export function resolveHeaders(
  configured: Readonly<Record<string, string>> | undefined,
  path: string,
  context: LoadContext,
) {
  const headers: Record<string, string> = {};
  let unset: string | null = null;
  for (const [name, value] of Object.entries(configured ?? {})) {
    const at = `${path}.${name}`;
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) context.problems.add(at, "is not a header's name");
    const isPlain = !isReference(value) && !secretName.test(name);
    const resolved: Secret = isPlain ? { kind: "value", value } : readSecret(value, context);
    if (resolved.kind === "unset") unset = resolved.reason;
    else if (resolved.kind === "problem") context.problems.add(at, resolved.message);
    else if (resolved.value === "" || isSendable(resolved.value))
      headers[name.toLowerCase()] = resolved.value;
    else context.problems.add(at, unsendable);
  }
  return { headers, unset };
}

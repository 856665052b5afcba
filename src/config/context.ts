import type { Places } from "./places.ts";
import type { ProblemList } from "./problems.ts";
import { readSecret, type SecretSources } from "./secrets.ts";

/** Shared by all parts of the loader while they read one configuration. */
export interface LoadContext extends SecretSources {
  readonly problems: ProblemList;
  readonly places: Places;
  readonly warnings: string[];
}

/** The secret at a path; null if there is none. One that is not set is a problem too, unless `without` says what it means. */
export function secretAt(
  path: string,
  reference: string,
  context: LoadContext,
  without?: string,
): string | null {
  const secret = readSecret(reference, context);
  if (secret.kind === "value") return secret.value;
  if (secret.kind === "problem") context.problems.add(path, secret.message);
  else if (without === undefined) context.problems.add(path, secret.reason);
  else context.warnings.push(`${without}: ${secret.reason}`);
  return null;
}

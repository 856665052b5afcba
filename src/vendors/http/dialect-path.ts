import { assert } from "../../base/assert.ts";
import { providerDialect } from "../../dialects/registry.ts";
import type { Prepared } from "../provider.ts";

/** Where the request goes by its dialect. One that counts tokens never goes where answers are generated, and billed. */
export function dialectPath(prepared: Prepared): string {
  const { dialect, purpose } = prepared;
  const path = providerDialect(dialect).paths[purpose];
  assert(path !== null, `${dialect} has no request of the kind ${purpose}`);
  return typeof path === "string" ? path : path(prepared);
}

import { assert } from "../../base/assert.ts";
import { providerDialect } from "../../dialects/registry.ts";
import type { PreparedRequest } from "../provider.ts";

/** The path by dialect. A request to count tokens never goes to a path that generates, and bills, an answer. */
export function dialectPath(prepared: PreparedRequest): string {
  const { dialect, purpose } = prepared;
  const path = providerDialect(dialect).paths[purpose];
  assert(path != null, "the dialect has no path for this request", purpose);
  return typeof path === "string" ? path : path(prepared);
}

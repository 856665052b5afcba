import { assert } from "../base/assert.ts";
import type { DialectName } from "../base/dialect.ts";
import type { Dialect } from "./dialect.ts";

/** Every dialect that the gateway can translate; adding one is adding a line. */
const dialects: Readonly<Partial<Record<DialectName, Dialect>>> = {};

export function dialectOf(name: DialectName): Dialect {
  const dialect = dialects[name];
  assert(dialect !== undefined, `no dialect named ${name}`);
  return dialect;
}

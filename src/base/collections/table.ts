/**
 * A table that is read with names from outside. A plain object also answers for what it inherits: asked for
 * "constructor", it returns a function.
 */
export function tableOf<Value>(values: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.assign(Object.create(null), values);
}

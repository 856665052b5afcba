/**
 * A table that is read with names from outside. A plain object also has inherited members: for "constructor" it would
 * return a function.
 */
export function tableOf<Value>(values: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.assign(Object.create(null), values);
}

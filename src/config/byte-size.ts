import { assert } from "../base/assert.ts";

const unitBytes = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 } as const;

/** As a JSON Schema pattern, for editors. */
export const byteSizePattern = "^\\d+(\\.\\d+)?(B|KB|MB|GB|TB)$";

/** A size as written in the file: a number of bytes, or a string with a unit, where 1 KB is 1,000 bytes. */
export type ByteSize = number | string;

/** Null if it has another form. */
export function bytesOfSize(value: ByteSize): number | null {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : null;
  if (!new RegExp(byteSizePattern).test(value)) return null;
  const [unit = ""] = /[A-Z]+$/.exec(value) ?? [];
  // The pattern has the units of the table and no others.
  return Math.round(Number.parseFloat(value) * unitBytes[unit as keyof typeof unitBytes]);
}

/** Bytes of a size that the schema has accepted. */
export function bytesIn(size: ByteSize): number {
  const count = bytesOfSize(size);
  assert(count !== null, "a size that passed the check has a unit");
  return count;
}

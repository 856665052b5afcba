import { assert } from "../base/assert.ts";

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** As a JSON Schema pattern, for editors. */
export const durationPattern = "^\\d+(\\.\\d+)?(ms|s|m|h|d)$";

/** A duration as the file has it: a number is seconds, a string has a unit. */
export type Duration = number | string;

/** Null if a string has another form. */
export function parseDuration(value: Duration): number | null {
  if (typeof value === "number") return Math.round(value * unitMs.s);
  if (!new RegExp(durationPattern).test(value)) return null;
  const [unit = ""] = /[a-z]+$/.exec(value) ?? [];
  // The pattern has the units of the table and no others.
  return Math.round(Number.parseFloat(value) * unitMs[unit as keyof typeof unitMs]);
}

/** Milliseconds of a duration that the schema has accepted. */
export function milliseconds(duration: Duration): number {
  const ms = parseDuration(duration);
  assert(ms !== null, "a duration that passed the check has a unit");
  return ms;
}

/** In the largest unit that gives a whole number, e.g. `90s`, `5m`. */
export function durationText(ms: number): string {
  const units = Object.entries(unitMs).toReversed();
  const [unit, size] = units.find(([, each]) => ms >= each && ms % each === 0) ?? ["s", unitMs.s];
  return `${ms / size}${unit}`;
}

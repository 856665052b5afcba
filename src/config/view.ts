import type { TObject, TSchema } from "@sinclair/typebox";
import { settingName } from "./decode.ts";
import { isSection, type Marks, secrecy, unit } from "./schema/marks.ts";
import { withoutCredentials } from "./written.ts";

export const masked = "********";

/**
 * The options of a section with their effective values, under their names in the file; durations are in milliseconds,
 * as their names indicate. Options that the schema marks as secret are masked.
 */
export function sectionView(schema: TObject, settings: object): Record<string, unknown> {
  const values: Readonly<Record<string, unknown>> = { ...settings };
  return Object.fromEntries(
    Object.entries(schema.properties).map(([name, field]) => [
      (field as Marks)[unit] === "ms" ? `${name}_ms` : name,
      shown(field, values[settingName(name, field)] ?? null),
    ]),
  );
}

function shown(field: TSchema, value: unknown): unknown {
  if (value === null) return null;
  const { [secrecy]: hides, [isSection]: isTable } = field as Marks;
  if (hides === "secret" || hides === "key") return masked;
  if (hides === "address") return withoutCredentials(String(value));
  if (hides === "headers") return maskedValues(Object(value));
  return isTable ? sectionView(field as TObject, Object(value)) : value;
}

/** Any header's value may be a credential. */
export function maskedValues(headers: object): Record<string, string> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, masked]));
}

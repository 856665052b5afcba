import type { Json } from "../../../src/base/json.ts";
import { isObject } from "../../../src/base/json.ts";

/** A line of a catalog: JSON with spaces, which is easier to read in a difference. */
export function lineText(value: Json | object | undefined): string {
  if (Array.isArray(value)) return `[${value.map(lineText).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${lineText(each)}`);
  return `{${fields.join(", ")}}`;
}

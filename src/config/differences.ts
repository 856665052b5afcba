import { tableOf } from "../base/collections/table.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { takesRestart } from "./reload.ts";
import { tomlValue } from "./toml-text.ts";

export interface ConfigDifference {
  readonly change: "added" | "changed" | "removed";
  /** Such as `server.port`, `provider "openai"` or `model "gpt-5.6", price.input`. */
  readonly where: string;
  /** As TOML; null where there is none. */
  readonly before: string | null;
  readonly after: string | null;
  readonly needs_restart: boolean;
}

/** The differences between two configurations, in the order of the second; what only the first has comes last. */
export function configDifferences(before: JsonObject, after: JsonObject): ConfigDifference[] {
  return namesOf(before, after).flatMap((section) =>
    compare([section], before[section] ?? empty(after[section]), after[section] ?? empty(before[section])),
  );
}

/** Stands for a missing section, so that the comparison lists each of the other section's fields. */
function empty(other: Json | undefined): Json | undefined {
  if (isObject(other)) return {};
  return Array.isArray(other) ? [] : undefined;
}

function compare(path: readonly string[], before?: Json, after?: Json): ConfigDifference[] {
  if (Bun.deepEquals(before, after)) return [];
  const [one, other] = [fieldsOf(before, path), fieldsOf(after, path)];
  if (one === null || other === null) return [difference(path, before, after)];
  return namesOf(one, other).flatMap((name) => compare([...path, name], one[name], other[name]));
}

/** Models are identified by id, other tables in a list by position. Null for a plain value. */
function fieldsOf(value: Json | undefined, path: readonly string[]): JsonObject | null {
  if (isObject(value)) return tableOf(value);
  if (!Array.isArray(value) || !value.every(isObject)) return null;
  const isModels = path.length === 1 && path[0] === "models";
  const entries = value.map((each, place) => [isModels ? String(each["id"]) : `${place + 1}`, each] as const);
  return tableOf(Object.fromEntries(entries));
}

function namesOf(before: JsonObject, after: JsonObject): string[] {
  return [...new Set([...Object.keys(after), ...Object.keys(before)])];
}

function difference(path: readonly string[], before?: Json, after?: Json): ConfigDifference {
  return {
    change: before === undefined ? "added" : after === undefined ? "removed" : "changed",
    where: placeOf(path),
    before: before === undefined ? null : tomlValue(before),
    after: after === undefined ? null : tomlValue(after),
    needs_restart: takesRestart(path),
  };
}

const named: Readonly<Record<string, string>> = { models: "model", providers: "provider" };

function placeOf([section = "", name = "", ...rest]: readonly string[]): string {
  const kind = named[section];
  if (kind === undefined) return [section, name, ...rest].filter((part) => part !== "").join(".");
  return [`${kind} "${name}"`, ...(rest.length === 0 ? [] : [rest.join(".")])].join(", ");
}

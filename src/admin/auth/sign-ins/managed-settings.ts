import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { AdminSettings } from "../../../config/settings.ts";
import { isFor, type Person } from "../../access/person.ts";

export interface ManagedDocument {
  readonly uuid: string;
  /** `sha256:` and the hash of the settings as canonical JSON. */
  readonly checksum: string;
  readonly settings: JsonObject;
}

/** The first table for this person, laid over the one for everyone. Null if there is neither. */
export function managedSettingsFor(person: Person, admin: AdminSettings): ManagedDocument | null {
  const everyones = admin.managedSettings.find((each) => each.for === null);
  const own = admin.managedSettings.find((each) => each.for !== null && isFor(each.for, person, admin));
  if (everyones === undefined && own === undefined) return null;
  const settings = laidOver(everyones?.claudeCode ?? {}, own?.claudeCode ?? {});
  const checksum = `sha256:${new Bun.CryptoHasher("sha256").update(canonical(settings)).digest("hex")}`;
  return { uuid: checksum, checksum, settings };
}

/** Objects merge; lists and other values replace. */
function laidOver(below: JsonObject, above: JsonObject): JsonObject {
  const merged: JsonObject = { ...below };
  for (const [name, value] of Object.entries(above)) {
    const before = Object.hasOwn(below, name) ? below[name] : undefined;
    merged[name] = isObject(before) && isObject(value) ? laidOver(before, value) : (value ?? null);
  }
  return merged;
}

/** Keys sorted at all levels, no blanks: as Claude Code computes it. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name] ?? null)}`);
  return `{${members.join(",")}}`;
}

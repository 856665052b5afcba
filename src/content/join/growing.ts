import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/** An object that is put together from deltas. */
export type Growing = JsonObject;

/** Members whose texts arrive in pieces. Any other member is replaced by its last value. */
const texts = new Set([
  "content",
  "text",
  "arguments",
  "input",
  "reasoning",
  "reasoning_content",
  "reasoning_text",
  "refusal",
  "thinking",
  "signature",
  "transcript",
  "data",
  "summary",
  "code",
]);

/** Adds a delta: texts are appended, lists with places are merged by them, and other lists are joined. */
export function grow(target: Growing, delta: JsonObject): void {
  for (const [name, value] of Object.entries(delta)) {
    if (value === undefined) continue;
    const known = target[name];
    if (typeof value === "string" && typeof known === "string" && texts.has(name))
      target[name] = known + value;
    else if (Array.isArray(value)) growList(target, name, value);
    else if (isObject(value) && isObject(known)) grow(known, value);
    // A null in a later delta takes nothing back.
    else if (value !== null || known === undefined) target[name] = isObject(value) ? { ...value } : value;
  }
}

function growList(target: Growing, name: string, items: readonly Json[]): void {
  const known = target[name];
  const list: Json[] = Array.isArray(known) ? known : [];
  target[name] = list;
  for (const item of items) {
    if (isObject(item) && typeof item["index"] === "number") {
      const found = list.find((each) => isObject(each) && each["index"] === item["index"]);
      if (isObject(found)) grow(found, item);
      else list.push(structuredClone(item));
    } else list.push(item);
  }
}

/** The one at this place, which is created if there is none. Places beyond any response's are the last one. */
export function addByIndex(list: Growing[], index: number, empty: Growing): Growing {
  const at = Math.min(Math.max(0, Math.floor(index)), maxPlaces);
  list[at] ??= empty;
  return list[at];
}

const maxPlaces = 10_000;

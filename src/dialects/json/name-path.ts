import { isObject, type Json } from "../../base/json.ts";

/** Names and indexes as a readable path, such as `messages[0].role`. */
export function pathOf(steps: readonly (string | number)[]): string {
  let path = "";
  for (const step of steps) {
    if (typeof step === "number") path += `[${step}]`;
    else path += path === "" ? step : `.${step}`;
  }
  return path;
}

interface FoundId {
  readonly id: string;
  readonly path: string;
}

/** Ids in every form that a lenient provider might read: in a list, in an object, as a number. `steps` lead to the value. */
export function idsIn(value: Json | undefined, steps: readonly (string | number)[]): readonly FoundId[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => idsIn(item, [...steps, index]));
  if (isObject(value)) return idsIn(value["id"], [...steps, "id"]);
  if (typeof value !== "string" && typeof value !== "number") return [];
  return [{ id: String(value), path: pathOf(steps) }];
}

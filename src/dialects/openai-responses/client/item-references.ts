import type { JsonObject } from "../../../base/json.ts";
import { stringOf } from "../../json/json-fields.ts";
import { isItemReference } from "../../names/stored-items.ts";

/** The body with items in place of references to them, as far as `find` has them; the same one if it has none. */
export function resolveReferences(body: JsonObject, find: (id: string) => JsonObject | null): JsonObject {
  const { input } = body;
  if (!Array.isArray(input)) return body;
  const items = input.map((item) => {
    const id = isItemReference(item) ? stringOf(item["id"]) : null;
    return (id === null ? null : find(id)) ?? item;
  });
  return items.every((item, index) => item === input[index]) ? body : { ...body, input: items };
}

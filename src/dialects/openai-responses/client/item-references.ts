import { isObject, type Json, type JsonObject } from "../../../base/json.ts";

/** The body with items in place of references to them, as far as `find` has them; the same one if it has none. */
export function resolveReferences(body: JsonObject, find: (id: string) => JsonObject | null): JsonObject {
  const { input } = body;
  if (!Array.isArray(input)) return body;
  const items = input.map((item) => {
    const id = referenceIn(item);
    return (id === null ? null : find(id)) ?? item;
  });
  return items.every((item, index) => item === input[index]) ? body : { ...body, input: items };
}

/** `type` may be left out of a reference, which then has no role either. */
function referenceIn(item: Json): string | null {
  if (!isObject(item) || typeof item["id"] !== "string") return null;
  const isReference =
    item["type"] === "item_reference" || ((item["type"] ?? null) === null && item["role"] === undefined);
  return isReference ? item["id"] : null;
}

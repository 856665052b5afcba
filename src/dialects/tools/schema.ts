import type { JsonObject } from "../../base/json.ts";

const takesNothing: JsonObject = { type: "object", properties: {} };

/** A tool's schema as it is; where there is none, or it says nothing of its type, one that both vendors take. */
export function functionSchema(schema: JsonObject | null): JsonObject {
  if (schema === null) return takesNothing;
  if (typeof schema["type"] === "string") return schema;
  return Object.keys(schema).length === 0 ? takesNothing : { type: "object", ...schema };
}

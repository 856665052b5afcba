import type { JsonObject } from "../../base/json.ts";

const takesNothing: JsonObject = { type: "object", properties: {} };

/** A tool's schema. If it is missing or has no type, it is completed so that both vendors accept it. */
export function functionSchema(schema: JsonObject | null): JsonObject {
  if (schema === null) return takesNothing;
  if (typeof schema["type"] === "string") return schema;
  return Object.keys(schema).length === 0 ? takesNothing : { type: "object", ...schema };
}

import type { JsonObject } from "../../base/json.ts";
import type { IrFunctionTool } from "../ir/ir.ts";

const takesNothing: JsonObject = { type: "object", properties: {} };

/** A function without a namespace, as most tools are. */
export function functionTool(
  name: string,
  description: string | null,
  schema: JsonObject | null,
  strict: boolean | null = null,
): IrFunctionTool {
  return { type: "function", kind: "function", namespace: null, name, description, schema, strict };
}

/** A tool's schema. If it is missing or has no type, it is completed so that both vendors accept it. */
export function functionSchema(schema: JsonObject | null): JsonObject {
  if (schema === null) return takesNothing;
  if (typeof schema["type"] === "string") return schema;
  return Object.keys(schema).length === 0 ? takesNothing : { type: "object", ...schema };
}

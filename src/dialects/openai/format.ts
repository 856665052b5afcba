import type { JsonObject } from "../../base/json.ts";
import { reject } from "../contract/field-decisions.ts";
import type { IrFormat } from "../ir/ir.ts";
import { booleanOf, objectOf, stringOf } from "../json/json-fields.ts";

/** The requested format. Chat has the schema in a separate object, Responses next to the type. */
export function readFormat(
  format: JsonObject | null,
  path: string,
  describedIn: (format: JsonObject) => JsonObject,
): IrFormat | null {
  if (format === null || format["type"] === "text") return null;
  if (format["type"] === "json_object") return { type: "json_object" };
  if (format["type"] !== "json_schema") reject(`${path}.type`, "must be text, json_object or json_schema");
  const { name, description, schema, strict } = describedIn(format);
  return {
    type: "json_schema",
    name: stringOf(name),
    description: stringOf(description),
    schema: objectOf(schema) ?? {},
    strict: booleanOf(strict),
  };
}

/** The fields that describe a schema. OpenAI requires a name. */
export function writeSchema(
  { name, description, schema, strict }: IrFormat & { readonly type: "json_schema" },
  takesStrict = true,
): JsonObject {
  return {
    name: name ?? "answer",
    ...(description === null ? {} : { description }),
    schema,
    ...(strict === null || !takesStrict ? {} : { strict }),
  };
}

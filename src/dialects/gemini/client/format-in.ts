import type { JsonObject } from "../../../base/json.ts";
import type { IrFormat } from "../../ir/ir.ts";
import { objectOf, stringOf } from "../../json/json-fields.ts";
import { readSchema } from "./schema-in.ts";

/** JSON, with a schema in one of Google's three places, or one of the schema's words. Null for text. */
export function readFormat(config: JsonObject): IrFormat | null {
  const { text, ...others } = objectOf(config["responseFormat"]) ?? {};
  const newest = objectOf(text) ?? others;
  const google = objectOf(config["responseSchema"]);
  const schema =
    objectOf(config["responseJsonSchema"]) ??
    objectOf(config["_responseJsonSchema"]) ??
    objectOf(newest["schema"]) ??
    (google === null ? null : readSchema(google));
  if (schema !== null) return { type: "json_schema", name: null, description: null, schema, strict: null };
  const type = stringOf(config["responseMimeType"]) ?? stringOf(newest["mimeType"]) ?? "";
  return /^application[/_]json$/i.test(type) ? { type: "json_object" } : null;
}

import type { JsonObject } from "../../../base/json.ts";
import { listOf } from "../../json/json-fields.ts";
import { isForeignReasoning } from "../../reasoning/foreign-reasoning.ts";

/** Returns the same body if there is nothing to strip. */
export function stripForeignReasoning(body: JsonObject): JsonObject {
  const input = listOf(body["input"]);
  const kept = input.filter((item) => !isForeignReasoning(item, "reasoning", "encrypted_content"));
  return kept.length === input.length ? body : { ...body, input: kept };
}

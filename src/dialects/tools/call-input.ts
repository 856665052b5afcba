import type { JsonObject } from "../../base/json.ts";
import { parseObject } from "../json/json-fields.ts";

/**
 * A call's input as the object that Messages requires. Input that is not a JSON object (truncated, or never one) goes
 * under a special name, so that the tool rejects it and the model sees why.
 */
export function callInput(input: string): JsonObject {
  if (input.trim() === "") return {};
  return parseObject(input) ?? { invalid_arguments: input };
}

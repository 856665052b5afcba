import type { JsonObject } from "../../base/json.ts";
import { parseObject } from "../json/json-fields.ts";

/**
 * A call's input as the object that Messages wants. Input that is no JSON object (cut off, or never one) is
 * kept as it is under a name of its own, so that whoever executes the tool refuses it and the model sees why.
 */
export function callInput(input: string): JsonObject {
  if (input.trim() === "") return {};
  return parseObject(input) ?? { invalid_arguments: input };
}

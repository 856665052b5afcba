import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { objectsOf, parseObject } from "../../json/json-fields.ts";
import { dataOf } from "../../sse/data-field.ts";
import { isFailure } from "./delta-in.ts";

/** Chunks that have neither are not parsed: nearly all of them have content. */
const mayOpen = /"role"|"choices"\s*:\s*\[\s*\]/;

/** Whether the event is a chunk that only announces the answer: one with the role, or Azure's findings about the prompt. */
export function isOpeningChunk(event: string): boolean {
  const chunk = mayOpen.test(event) ? parseObject(dataOf(event)) : null;
  if (chunk === null || !Array.isArray(chunk["choices"]) || isFailure(chunk)) return false;
  // Without choices, usage is what ends a stream.
  if (chunk["choices"].length === 0) return isEmpty(chunk["usage"]);
  return objectsOf(chunk["choices"]).every(isOpeningChoice);
}

function isOpeningChoice({ delta, finish_reason: finish }: JsonObject): boolean {
  if (!isObject(delta) || !isEmpty(finish)) return false;
  return Object.entries(delta).every(([name, value]) => name === "role" || isEmpty(value));
}

function isEmpty(value: Json | undefined): boolean {
  return value == null || value === "" || (Array.isArray(value) && value.length === 0);
}

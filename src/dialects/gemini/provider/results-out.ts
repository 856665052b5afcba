import type { JsonObject } from "../../../base/json.ts";
import type { IrToolCall, IrToolResult } from "../../ir/ir.ts";
import type { Target } from "../../provider-dialect.ts";
import { writeContent } from "./content-out.ts";
import { takesMediaInResults } from "./model.ts";

/** A call's result. Images and files of models before 3 go into `media`, to follow the results. */
export function writeResult(
  call: IrToolCall,
  { content, isError }: IrToolResult,
  target: Target,
  media: JsonObject[],
): JsonObject {
  const texts: string[] = [];
  const others: JsonObject[] = [];
  for (const part of content.flatMap((block) => writeContent(block, target))) {
    if (typeof part["text"] === "string") texts.push(part["text"]);
    else others.push(part);
  }
  const text = texts.join("\n");
  const written: JsonObject = { name: call.name, response: isError ? { error: text } : { output: text } };
  if (others.length === 0) return written;
  if (takesMediaInResults(target)) written["parts"] = others;
  else media.push(...others);
  return written;
}

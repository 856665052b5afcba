import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { IrTool } from "../../ir/ir.ts";
import { listOf, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import type { DroppedFields } from "../../translation/dropped-fields.ts";

const changes: ReadonlySet<Json | undefined> = new Set(["tool_addition", "tool_removal"]);

/**
 * System messages may add and remove tools in the middle of a conversation. No other dialect can, so the tools are those
 * that the model may call from now on.
 */
export function changedTools(
  tools: readonly IrTool[],
  messages: Json | undefined,
  read: (definition: JsonObject, path: string) => IrTool,
  dropped: DroppedFields,
): IrTool[] {
  /** All that were ever defined, by name; one that was removed may be added again. */
  const defined = new Map(tools.map((tool) => [keyOf(tool), tool]));
  const offered = new Map(defined);
  for (const [index, message] of listOf(messages).entries()) {
    if (!isObject(message) || message["role"] !== "system") continue;
    for (const [at, block] of objectsOf(message["content"]).entries()) {
      if (!changes.has(block["type"])) continue;
      const path = `messages[${index}].content[${at}]`;
      const { type, name, definition } = objectOf(block["tool"]) ?? {};
      const added = type === "tool_definition" && isObject(definition);
      if (added) {
        const tool = read(definition, `${path}.tool.definition`);
        defined.set(keyOf(tool), tool);
        offered.set(keyOf(tool), tool);
        continue;
      }
      const key = type === "tool_reference" ? (stringOf(name) ?? "") : "";
      const tool = defined.get(key);
      // Toolsets of MCP servers and unknown tools: what is not offered cannot be changed.
      if (tool === undefined) dropped.add(path);
      else if (block["type"] === "tool_removal") offered.delete(key);
      else offered.set(key, tool);
    }
  }
  return [...offered.values()];
}

function keyOf(tool: IrTool): string {
  return tool.type === "hosted" ? tool.path : tool.name;
}

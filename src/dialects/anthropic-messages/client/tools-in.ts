import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { type DroppedFields, reject } from "../../contract/field-decisions.ts";
import type { IrFunctionTool, IrTool, IrToolChoice } from "../../ir/ir.ts";
import { booleanOf, listOf, objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { functionTool } from "../../tools/schema.ts";
import { readHosted } from "../../tools/web-search.ts";
import { withMark } from "./content-in.ts";
import { knownTool } from "./known-tools.ts";

export function readTools(body: JsonObject, dropped: DroppedFields): IrTool[] {
  const tools = objectsOf(body["tools"]).map((tool, index) => readTool(tool, `tools[${index}]`));
  return changedTools(tools, body["messages"], dropped);
}

/** Reads only what every dialect has: `defer_loading` and the like must not leak into a schema. */
function readTool(tool: JsonObject, path: string): IrTool {
  const type = stringOf(tool["type"]) ?? "custom";
  if (type === "custom") return readFunction(tool, path);
  return knownTool(type, stringOf(tool["name"])) ?? readHosted(tool, { name: type, path });
}

function readFunction(tool: JsonObject, path: string): IrFunctionTool {
  const name = stringOf(tool["name"]) ?? reject(`${path}.name`, "must be the name of the tool");
  const { description, input_schema: schema, strict } = tool;
  return withMark(functionTool(name, stringOf(description), objectOf(schema), booleanOf(strict)), tool);
}

export function readToolChoice(body: JsonObject): IrToolChoice | null {
  const choice = objectOf(body["tool_choice"]);
  switch (choice?.["type"]) {
    case "auto":
    case "none":
      return { type: choice["type"] };
    case "any":
      return { type: "required" };
    case "tool":
      return readNamed(body, stringOf(choice["name"]) ?? "");
    case undefined:
      return null;
    default:
      return reject("tool_choice.type", "must be auto, any, tool or none");
  }
}

function readNamed(body: JsonObject, name: string): IrToolChoice {
  const tool = objectsOf(body["tools"]).find((it) => it["name"] === name);
  const type = stringOf(tool?.["type"]) ?? "custom";
  const hosted = type !== "custom" && knownTool(type, name) === null;
  return hosted ? { type: "hosted", name } : { type: "tool", namespace: null, name };
}

export function readParallel(body: JsonObject): boolean | null {
  const disabled = objectOf(body["tool_choice"])?.["disable_parallel_tool_use"];
  return typeof disabled === "boolean" ? !disabled : null;
}

const changes: ReadonlySet<Json | undefined> = new Set(["tool_addition", "tool_removal"]);

/**
 * System messages may add and remove tools in the middle of a conversation. No other dialect can, so the tools are those
 * that the model may call from now on.
 */
function changedTools(
  tools: readonly IrTool[],
  messages: Json | undefined,
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
        const tool = readTool(definition, `${path}.tool.definition`);
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

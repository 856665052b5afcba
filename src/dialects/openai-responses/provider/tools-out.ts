import type { JsonObject } from "../../../base/json.ts";
import type { IrTool, IrToolChoice, ToolRef } from "../../ir/ir.ts";
import { functionSchema } from "../../tools/schema.ts";

/** Takes adapted tools: names without namespaces, and no hosted tools. */
export function writeTools(tools: readonly IrTool[]): JsonObject[] {
  return tools.flatMap(writeTool);
}

function writeTool(tool: IrTool): JsonObject[] {
  switch (tool.type) {
    case "function":
      return [
        {
          type: "function",
          name: tool.name,
          ...describe(tool),
          parameters: functionSchema(tool.schema),
          // Responses defaults to true, the client's dialect to false.
          strict: tool.strict ?? false,
        },
      ];
    case "custom":
      return [
        {
          type: "custom",
          name: tool.name,
          ...describe(tool),
          ...(tool.format === null ? {} : { format: tool.format }),
        },
      ];
    case "hosted":
      return [];
  }
}

function describe({ description }: { readonly description: string | null }): JsonObject {
  return description === null ? {} : { description };
}

export function writeToolChoice(choice: IrToolChoice, tools: readonly IrTool[]): string | JsonObject {
  switch (choice.type) {
    case "tool":
      return writeRef(choice, tools);
    case "allowed":
      return {
        type: "allowed_tools",
        mode: choice.mode,
        tools: choice.tools.map((ref) => writeRef(ref, tools)),
      };
    case "hosted":
      return "auto";
    default:
      return choice.type;
  }
}

function writeRef(ref: ToolRef, tools: readonly IrTool[]): JsonObject {
  const custom = tools.some((tool) => tool.type === "custom" && tool.name === ref.name);
  return { type: custom ? "custom" : "function", name: ref.name };
}

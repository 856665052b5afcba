import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { type DroppedFields, decideFields, reject } from "../../contract/field-decisions.ts";
import type { IrTool, IrToolChoice, ToolRef } from "../../ir/ir.ts";
import { booleanOf, nonEmpty, objectOf, stringOf } from "../../json/json-fields.ts";
import { functionTool } from "../../tools/schema.ts";
import { readHosted } from "../../tools/web-search.ts";
import { customToolFields, functionFields } from "./fields.ts";

/** Codex' tool search has no name on the wire. */
export const toolSearchName = "tool_search";

/** Tools that are defined inside the conversation. */
export interface LateTools {
  readonly tools: Json;
  readonly path: string;
}

/** The tools of the request and those inside the conversation; a later definition replaces an earlier one. */
export function readTools(
  tools: Json | undefined,
  lateTools: readonly LateTools[],
  dropped: DroppedFields,
): IrTool[] {
  const all = new Map<string, IrTool>();
  for (const list of [{ tools: tools ?? null, path: "tools" }, ...lateTools]) {
    for (const tool of readToolList(list.tools, null, list.path, dropped)) all.set(keyOf(tool), tool);
  }
  return [...all.values()];
}

function keyOf(tool: IrTool): string {
  return tool.type === "hosted" ? tool.path : `${tool.namespace ?? ""}\n${tool.name}`;
}

function readToolList(
  tools: Json | undefined,
  namespace: string | null,
  path: string,
  dropped: DroppedFields,
): IrTool[] {
  if (tools === null || tools === undefined) return [];
  if (!Array.isArray(tools)) reject(path, "must be a list");
  return tools.flatMap((tool, index) => {
    const toolPath = `${path}[${index}]`;
    return isObject(tool)
      ? readTool(tool, namespace, toolPath, dropped)
      : reject(toolPath, "must be an object");
  });
}

function readTool(
  tool: JsonObject,
  namespace: string | null,
  path: string,
  dropped: DroppedFields,
): IrTool[] {
  const { type } = tool;
  const description = stringOf(tool["description"]);
  switch (type) {
    case "function": {
      decideFields(tool, functionFields, dropped, "tools[].");
      const { parameters, strict } = tool;
      const read = functionTool(nameOf(tool, path), description, objectOf(parameters), booleanOf(strict));
      return [{ ...read, namespace }];
    }
    case "custom": {
      decideFields(tool, customToolFields, dropped, "tools[].");
      const format = objectOf(tool["format"]);
      return [{ type: "custom", namespace, name: nameOf(tool, path), description: description, format }];
    }
    case "namespace":
      return introduced(
        readToolList(tool["tools"], nameOf(tool, path), `${path}.tools`, dropped),
        description ?? "",
      );
    case "tool_search":
      return [readToolSearch(tool, description, path)];
    default:
      if (typeof type !== "string") reject(`${path}.type`, "must be a string");
      return [readHosted(tool, { name: type, path })];
  }
}

/** The description of a namespace is added to the first of its tools. */
function introduced(tools: readonly IrTool[], introduction: string): IrTool[] {
  const first = introduction === "" ? -1 : tools.findIndex((tool) => tool.type !== "hosted");
  return tools.map((tool, index) => {
    if (index !== first || tool.type === "hosted") return tool;
    const own = tool.description ?? "";
    return { ...tool, description: own === "" ? introduction : `${introduction}\n\n${own}` };
  });
}

function readToolSearch(tool: JsonObject, description: string | null, path: string): IrTool {
  if (tool["execution"] !== "client") {
    return readHosted({}, { name: toolSearchName, path });
  }
  const read = functionTool(toolSearchName, description, objectOf(tool["parameters"]));
  return { ...read, kind: "tool_search" };
}

function nameOf(tool: JsonObject, path: string): string {
  const name = tool["name"];
  return typeof name === "string" && name !== ""
    ? name
    : reject(`${path}.name`, "must be a non-empty string");
}

export function readToolChoice(choice: Json | undefined, tools: readonly IrTool[]): IrToolChoice | null {
  if (choice === undefined || choice === null) return null;
  if (choice === "auto" || choice === "none" || choice === "required") return { type: choice };
  if (!isObject(choice)) reject("tool_choice", "must be auto, none, required or an object");
  const type = choice["type"];
  switch (type) {
    case "function":
    case "custom":
      return { type: "tool", ...readRef(choice, "tool_choice") };
    case "tool_search":
      return { type: "tool", namespace: null, name: toolSearchName };
    case "allowed_tools":
      return readAllowed(choice, tools);
    default:
      if (typeof type !== "string") reject("tool_choice.type", "must be a string");
      return { type: "hosted", name: type };
  }
}

function readRef(choice: JsonObject, path: string): ToolRef {
  return { namespace: nonEmpty(choice["namespace"]), name: nameOf(choice, path) };
}

/** Hosted tools in the list are ignored, because they are dropped anyway. */
function readAllowed(choice: JsonObject, tools: readonly IrTool[]): IrToolChoice {
  const list = choice["tools"];
  if (!Array.isArray(list)) reject("tool_choice.tools", "must be a list");
  const refs = list.flatMap((entry, index): ToolRef[] => {
    const path = `tool_choice.tools[${index}]`;
    if (!isObject(entry)) reject(path, "must be an object");
    if (entry["type"] === "function" || entry["type"] === "custom") return [readRef(entry, path)];
    if (entry["type"] === "tool_search") return [{ namespace: null, name: toolSearchName }];
    return entry["type"] === "namespace" ? membersOf(nameOf(entry, path), tools) : [];
  });
  return { type: "allowed", mode: choice["mode"] === "required" ? "required" : "auto", tools: refs };
}

function membersOf(namespace: string, tools: readonly IrTool[]): ToolRef[] {
  return tools.flatMap((tool) =>
    tool.type !== "hosted" && tool.namespace === namespace ? [{ namespace, name: tool.name }] : [],
  );
}

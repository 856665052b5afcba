import { isObject, type JsonObject } from "../../base/json.ts";
import { spellings } from "../../base/proto-json.ts";
import type { HostedToolName } from "../../base/usage/hosted-tools.ts";
import type { ClientDialect } from "../contract/client-dialect.ts";
import { countOf, objectOf, stringOf } from "../json/json-fields.ts";
import type { ValuePath } from "../json/remove-values.ts";
import { type ToolDependent, toolDependents } from "./tool-dependents.ts";
import { pricedName } from "./tool-families.ts";
import type { ToolList } from "./tool-list.ts";

/** A tool in a request that the provider would run. */
export interface HostedTool {
  readonly path: ValuePath;
  /** The type in the request. */
  readonly type: string;
  /** The model's name for it, by which a choice can force it; null if it has none. */
  readonly calledBy: string | null;
  /** Defined within the conversation, where a message would be empty without it. */
  readonly isInMessage: boolean;
  /** Null for an unknown tool, which has no price. */
  readonly name: HostedToolName | null;
  /** Maximum calls that the request allows; null if it sets no limit. */
  readonly maxUses: number | null;
  /** The other model that it runs, and the most tokens that this may write each time; null for a tool that runs none. */
  readonly runs: { readonly model: string; readonly maxTokens: number | null } | null;
  /** Path of a container size other than the default, which costs more; null if it has none. */
  readonly sizePath: ValuePath | null;
}

/** Anthropic's advisor is another model that reads and reviews the conversation. */
const advisor = /^advisor(_|$)/;

/** The tools of a request. */
export interface OfferedTools {
  readonly hosted: readonly HostedTool[];
  /** Number of tools that the client runs. */
  readonly clientCount: number;
  /** Parts of the request that are dropped with a hosted tool. */
  readonly dependents: readonly ToolDependent[];
}

const noDependents: readonly ToolDependent[] = [];
const none: OfferedTools = { hosted: [], clientCount: 0, dependents: noDependents };

/** Decides who runs the tools of a request. Most requests have none that the provider runs. */
export function offeredTools(
  dialect: Pick<ClientDialect, "isClientTool" | "hasToolMembers">,
  body: JsonObject,
  toolLists: readonly ToolList[],
): OfferedTools {
  if (toolLists.length === 0) return none;
  const hosted: HostedTool[] = [];
  let clientCount = 0;
  const maxCalls = countOf(body["max_tool_calls"]);
  for (const { path, tools, isSingle = false, isInMessage = false } of toolLists) {
    for (let index = 0; index < tools.length; index += 1) {
      const tool = tools[index];
      if (!isObject(tool)) continue;
      const type = typeOf(tool);
      const isClients = dialect.hasToolMembers === true || isRunByClient(dialect, type, tool);
      const found = isClients ? toolsWithin(tool) : noMembers;
      const isHostedOnly = dialect.hasToolMembers === true && found.length === Object.keys(tool).length;
      if (isClients && !isHostedOnly && type !== "namespace") clientCount += 1;
      if (isClients && found.length === 0) continue;
      const at = isSingle ? path : [...path, index];
      const common = { isInMessage, maxUses: countOf(tool["max_uses"]) ?? maxCalls };
      if (!isClients) hosted.push({ ...common, ...hostedTool(tool, type, at) });
      for (const member of found) hosted.push({ ...common, ...hostedTool(noTool, member, [...at, member]) });
    }
  }
  const dependents = hosted.length === 0 ? noDependents : toolDependents(body, toolLists);
  return { hosted, clientCount, dependents };
}

const noTool: JsonObject = {};

function hostedTool(
  tool: JsonObject,
  type: string,
  path: ValuePath,
): Omit<HostedTool, "isInMessage" | "maxUses"> {
  return {
    path,
    type,
    calledBy: stringOf(tool["name"]),
    name: pricedName(type),
    runs: runsOf(type, tool),
    sizePath: sizePathOf(tool, path),
  };
}

/** The size that OpenAI's price of a container is for. */
export const usualContainerSize = "1g";

/** A code interpreter has a container, a shell has it as its environment. */
function sizePathOf(tool: JsonObject, path: ValuePath): ValuePath | null {
  for (const member of ["container", "environment"]) {
    const size = objectOf(tool[member])?.["memory_limit"] ?? usualContainerSize;
    if (size !== usualContainerSize) return [...path, member, "memory_limit"];
  }
  return null;
}

/** Fields that a client's own tool may have. */
const ownMembers: ReadonlySet<string> = new Set([
  ...["type", "name", "function", "custom", "description", "parameters", "strict", "format", "tools"],
  ...["input_schema", "output_schema", "input_examples", "allowed_callers", "async", "defer_loading"],
  ...spellings(["functionDeclarations"]),
  ...["eager_input_streaming", "cache_control", "prompt_cache_breakpoint", "environment", "execution"],
]);

/** Google accepts its own tools in the same object as a function: each is a member with its settings. */
function toolsWithin(tool: JsonObject): readonly string[] {
  let found: string[] | null = null;
  for (const name in tool) {
    const value = tool[name];
    if (ownMembers.has(name) || (value !== true && (typeof value !== "object" || value === null))) continue;
    found ??= [];
    found.push(name);
  }
  return found ?? noMembers;
}

const noMembers: readonly string[] = [];

/** The type of a tool without one is the name of its first field (`google_search`), unless it is a function, or empty. */
function typeOf(tool: JsonObject): string {
  const { type = null } = tool;
  if (type !== null && type !== "") return typeof type === "string" ? type : JSON.stringify(type);
  const isFunction = isObject(tool["function"]) || typeof tool["name"] === "string";
  const field = isFunction ? undefined : Object.keys(tool).find((name) => name !== "type");
  return field ?? "function";
}

function isRunByClient(
  dialect: Pick<ClientDialect, "isClientTool">,
  type: string,
  tool: JsonObject,
): boolean {
  switch (type) {
    case "function":
    case "custom":
    case "namespace":
    case "local_shell":
    case "apply_patch":
      return true;
    case "tool_search":
      return tool["execution"] === "client";
    case "shell":
      return objectOf(tool["environment"])?.["type"] === "local";
    default:
      return dialect.isClientTool(type);
  }
}

function runsOf(type: string, { model, max_tokens: maxTokens }: JsonObject): HostedTool["runs"] {
  if (!isAdvisor(type)) return null;
  return { model: stringOf(model) ?? "", maxTokens: countOf(maxTokens) };
}

export function isAdvisor(type: string): boolean {
  return advisor.test(type);
}

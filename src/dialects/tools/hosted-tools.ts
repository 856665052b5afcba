import type { HostedToolName } from "../../base/hosted-tools.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { ClientDialect } from "../client-dialect.ts";
import { objectOf } from "../json/json-fields.ts";
import type { Mentions } from "../names/inspect-body.ts";

/** A tool in a request that the provider would run. */
export interface HostedTool {
  readonly path: string;
  /** As the request names it. */
  readonly type: string;
  /** Null for an unknown tool, which has no price. */
  readonly name: HostedToolName | null;
  /** The most calls that the request allows; null if it sets no limit. */
  readonly maxUses: number | null;
  /** The other model that it runs, and the most tokens that this may write each time; null for a tool that runs none. */
  readonly runs: { readonly model: string; readonly maxTokens: number | null } | null;
}

/** Anthropic's advisor is another model, which reads the conversation and says what it thinks of it. */
const advisor = /^advisor(_|$)/;

/** Vendors add dates and suffixes to the names: `web_search_20250305`, `web_search_preview`. */
const families: readonly (readonly [RegExp, HostedToolName])[] = [
  [/^web_search(_|$)/, "web_search"],
  [/^web_fetch(_|$)/, "web_fetch"],
  [/^file_search$/, "file_search"],
  [/^code_interpreter$/, "code_interpreter"],
  [/^code_execution(_|$)/, "code_execution"],
  [/^computer(_|$)/, "computer_use"],
  [/^image_generation$/, "image_generation"],
  [/^mcp(_toolset)?$/, "mcp"],
  [/^shell$/, "shell"],
  [/^tool_search(_|$)/, "tool_search"],
];

const none: readonly HostedTool[] = [];

/** The tools of a request that the provider would run. Most requests have none. */
export function hostedToolsOf(
  dialect: Pick<ClientDialect, "isClientTool">,
  body: JsonObject,
  mentions: Mentions,
): readonly HostedTool[] {
  const found: HostedTool[] = [];
  const maxCalls = countOf(body["max_tool_calls"]);
  for (const { path, tools, isSingle } of mentions.toolLists) {
    for (let index = 0; index < tools.length; index += 1) {
      const tool = tools[index];
      if (!isObject(tool)) continue;
      const type = typeOf(tool);
      if (isRunByClient(dialect, type, tool)) continue;
      const maxUses = countOf(tool["max_uses"]) ?? maxCalls;
      const toolPath = isSingle === true ? path : `${path}[${index}]`;
      found.push({ path: `${toolPath}.type`, type, name: nameOf(type), maxUses, runs: runsOf(type, tool) });
    }
  }
  for (const { field, name } of besideTheTools) {
    if (isAsked(body[field])) found.push({ path: field, type: field, name, maxUses: null, runs: null });
  }
  return found.length === 0 ? none : found;
}

/** Hosted tools that are turned on by a field of the body: of OpenAI, xAI, Alibaba, Anthropic, OpenRouter, Groq. */
const besideTheTools: readonly { readonly field: string; readonly name: HostedToolName | null }[] = [
  { field: "web_search_options", name: "web_search" },
  { field: "search_parameters", name: "web_search" },
  { field: "enable_search", name: "web_search" },
  { field: "mcp_servers", name: "mcp" },
  { field: "plugins", name: null },
  { field: "compound_custom", name: null },
];

/** A tool without a type is what its first field says (`google_search`), unless it is a function, or nothing at all. */
function typeOf(tool: JsonObject): string {
  const type = tool["type"] ?? null;
  if (type !== null) return typeof type === "string" ? type : JSON.stringify(type);
  const isFunction = isObject(tool["function"]) || typeof tool["name"] === "string";
  const field = isFunction ? undefined : Object.keys(tool).find((name) => name !== "type");
  return field ?? "function";
}

function isAsked(value: Json | undefined): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== false;
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

function nameOf(type: string): HostedToolName | null {
  return families.find(([family]) => family.test(type))?.[1] ?? null;
}

function runsOf(type: string, { model, max_tokens: maxTokens }: JsonObject): HostedTool["runs"] {
  if (!advisor.test(type) || typeof model !== "string") return null;
  return { model, maxTokens: countOf(maxTokens) };
}

function countOf(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

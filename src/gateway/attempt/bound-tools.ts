import { isObject, type Json } from "../../base/json.ts";
import type { BodyChanges } from "../../dialects/json/patch.ts";
import type { SharedDialectName } from "../../dialects/registry.ts";
import { countOf, type HostedTool, pricedName } from "../../dialects/tools/hosted-tools.ts";
import { heldCalls } from "../charge/held-calls.ts";
import type { ClientRequest } from "../request/request.ts";

const nothing: BodyChanges = {};

type BoundedRequest = Pick<ClientRequest, "truncated" | "tools" | "large" | "body">;

/**
 * Bounds the calls of hosted tools at the provider by what is held for them, where the client does not and the dialect has a field
 * for it. Without one, a request could cost many times its hold.
 */
export function boundTools(request: BoundedRequest, dialect: SharedDialectName): BodyChanges {
  const { hosted } = request.tools;
  if (hosted.length === 0) return nothing;
  if (dialect === "responses") return boundCalls(request, hosted);
  return dialect === "messages" ? boundUses(request) : nothing;
}

/** One bound for all tools of a response. */
function boundCalls({ truncated }: BoundedRequest, hosted: readonly HostedTool[]): BodyChanges {
  if (countOf(truncated["max_tool_calls"]) !== null) return nothing;
  return { max_tool_calls: hosted.reduce((sum, { maxUses }) => sum + heldCalls(maxUses), 0) };
}

/** A bound for each tool. A large body is not parsed here, and keeps its tools as they are. */
function boundUses(request: BoundedRequest): BodyChanges {
  const tools = request.large === null ? request.body["tools"] : null;
  if (!Array.isArray(tools) || !tools.some(isUnbounded)) return nothing;
  return { tools: tools.map((tool) => (isUnbounded(tool) ? { ...tool, max_uses: heldCalls(null) } : tool)) };
}

/** Those of Anthropic's tools that take `max_uses`. */
function isUnbounded(tool: Json): tool is { [name: string]: Json } {
  if (!isObject(tool) || typeof tool["type"] !== "string" || countOf(tool["max_uses"]) !== null) return false;
  const name = pricedName(tool["type"]);
  return name === "web_search" || name === "web_fetch";
}

import { isObject, type JsonObject } from "../../base/json.ts";
import { countOf } from "../../dialects/json/json-fields.ts";
import type { BodyChanges } from "../../dialects/json/patch.ts";
import { type HostedTool, isAdvisor } from "../../dialects/tools/hosted-tools.ts";
import { pricedName } from "../../dialects/tools/tool-families.ts";
import { heldCalls } from "../charge/requested-tools.ts";
import type { ClientRequest } from "../request/client-request.ts";

/*
 * Bounds the calls of hosted tools at the provider by what is held for them, where the dialect has a field for it. Without that, a
 * request could cost many times its hold.
 */

type BoundedRequest = Pick<ClientRequest, "truncated" | "tools">;

const nothing: BodyChanges = {};

/** One limit for all tools of a response. */
export function boundCalls({ truncated, tools }: BoundedRequest): BodyChanges {
  const held = tools.hosted.reduce((sum, { maxUses }) => sum + heldCalls(maxUses), 0);
  const requestedMax = countOf(truncated["max_tool_calls"]);
  return requestedMax !== null && requestedMax <= held ? nothing : { max_tool_calls: held };
}

/** The tool of a message at this index, and the calls that are held for it. */
export interface ToolLimit {
  readonly index: number;
  readonly maxUses: number;
}

export const noBounds: readonly ToolLimit[] = [];

/** The tools of a message that have another bound than is held for, or none. */
export function boundsToSet(request: BoundedRequest): readonly ToolLimit[] {
  const { hosted } = request.tools;
  const list = hosted.length === 0 ? null : request.truncated["tools"];
  if (!Array.isArray(list)) return noBounds;
  return hosted.flatMap(({ path: [field, index], type, maxUses: requestedMax }) => {
    if (field !== "tools" || typeof index !== "number" || !takesMaxUses(type)) return [];
    const tool = list[index];
    const maxUses = heldCalls(requestedMax);
    return isObject(tool) && tool["max_uses"] !== maxUses ? [{ index, maxUses }] : [];
  });
}

/** The whole list of tools with these bounds: on another thread for a large body. */
export function limitToolUses({ tools }: JsonObject, bounds: readonly ToolLimit[]): BodyChanges {
  if (!Array.isArray(tools)) return nothing;
  const bounded = [...tools];
  for (const { index, maxUses } of bounds) {
    const tool = bounded[index];
    if (isObject(tool)) bounded[index] = { ...tool, max_uses: maxUses };
  }
  return { tools: bounded };
}

/** Whether a tool of Anthropic has the field. */
function takesMaxUses(type: HostedTool["type"]): boolean {
  const name = pricedName(type);
  return name === "web_search" || name === "web_fetch" || isAdvisor(type);
}

import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { Source } from "../contract/client-dialect.ts";
import type { DroppedFields } from "../contract/field-decisions.ts";
import type { Target } from "../contract/provider-dialect.ts";
import type { IrMessage, IrRequest, IrText, IrTool } from "../ir/ir.ts";
import { claudeGeneration, modelName } from "./model-traits.ts";

type Markable = IrText | IrTool | IrMessage["blocks"][number];

/**
 * Sets cache marks for Claude, for clients whose own vendor caches automatically: on the tools, the instructions and
 * the user's last two turns, the first of which ends where the previous request ended. Only for a conversation with
 * tools and a response, because a single call would pay for a cache that is never read. Never if the client has set
 * marks.
 */
export function markCache(request: IrRequest, { dialect }: Source, target: Target): IrRequest {
  if (target.marksCache !== true || !dialect.expectsCaching || !takesMarks(target)) return request;
  const { tools, system, messages } = request;
  const lastResponse = messages.findLastIndex(({ role }) => role === "assistant");
  if (tools.length === 0 || lastResponse === -1 || countMarks(request) > 0) return request;
  const before = messages.findLastIndex(({ role }, index) => role === "user" && index < lastResponse);
  const last = messages.findLastIndex(({ role }, index) => role === "user" && index > lastResponse);
  return {
    ...request,
    tools: marked(tools),
    system: marked(system),
    messages: messages.map((message, index) =>
      index === before || index === last ? markedTurn(message) : message,
    ),
  };
}

/** Bedrock caches nothing for earlier models, and returns 400 for marks. */
const firstCached = 3.7;

function takesMarks(target: Target): boolean {
  const name = modelName(target);
  const isCached = (claudeGeneration(name) ?? firstCached) >= firstCached;
  return target.dialect.takesCacheMarks === true && /claude/i.test(name) && isCached;
}

function markedTurn(message: IrMessage): IrMessage {
  return message.role === "user" ? { ...message, blocks: marked(message.blocks) } : message;
}

/** Marks the last part that can have a mark. */
function marked<Part extends Markable>(parts: readonly Part[]): readonly Part[] {
  const last = parts.findLastIndex(canBeMarked);
  const part = parts[last];
  return part === undefined ? parts : parts.with(last, { ...part, cache: { type: "ephemeral" } });
}

/** Text of only white space is not sent, so its cache mark would be lost. */
function canBeMarked(part: Markable): boolean {
  return part.type !== "text" || part.text.trim() !== "";
}

/** The vendors' limit per request. The last marks cover the most, so the earliest are removed. */
const maxMarks = 4;

/** The parts whose mark exceeds the limit, in the provider's order. */
export function surplusMarks(written: readonly Json[], field: string): readonly JsonObject[] {
  const marked: JsonObject[] = [];
  collectMarked(written, field, marked);
  return marked.slice(0, -maxMarks);
}

/** Removes marks beyond the limit, and returns how many are left. Modifies the parts. */
export function limitMarks(written: readonly Json[], field: string): number {
  const marked: JsonObject[] = [];
  collectMarked(written, field, marked);
  for (const part of marked.slice(0, -maxMarks)) delete part[field];
  return Math.min(marked.length, maxMarks);
}

function collectMarked(parts: readonly Json[], field: string, marked: JsonObject[]): void {
  for (const part of parts) {
    if (!isObject(part)) continue;
    for (const inner of innerLists(part)) collectMarked(inner, field, marked);
    if (part[field] !== undefined) marked.push(part);
  }
}

/** The content of a message or of a tool's result. */
export function innerLists({ content, output, toolResult }: JsonObject): Json[][] {
  const result = isObject(toolResult) ? toolResult["content"] : undefined;
  return [content, output, result].filter((list) => Array.isArray(list));
}

/** Number of marks that a client has set. */
export function countMarks({ system, messages, tools }: IrRequest): number {
  let marks = marksIn(system) + marksIn(tools);
  for (const { blocks } of messages) marks += marksIn(blocks);
  return marks;
}

function marksIn(parts: readonly Markable[]): number {
  let marks = 0;
  for (const part of parts) if ("cache" in part && part.cache !== undefined) marks += 1;
  return marks;
}

/** A client's cache marks are dropped where the provider caches by itself and takes none. */
export function dropCacheMarks(request: IrRequest, dropped: DroppedFields): void {
  if (countMarks(request) > 0) dropped.addNamed("cacheMark");
}

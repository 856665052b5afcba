import { systemClock } from "../../base/clock.ts";
import { newId } from "../../base/id.ts";
import type { ClientDialect, Source, WallClock, WriterContext } from "../contract/client-dialect.ts";
import { DroppedFields } from "../contract/field-decisions.ts";
import type { Target } from "../contract/provider-dialect.ts";
import type { IrAssistantBlock, IrMessage, IrRequest } from "../ir/ir.ts";
import { markCache } from "../target/mark-cache.ts";
import { adaptTools } from "../tools/adapt-tools.ts";
import { legalCallId } from "../tools/call-id.ts";
import { ToolNames } from "../tools/names.ts";
import { pairCallsWithResults } from "../tools/pairing.ts";
import { functionTool } from "../tools/schema.ts";
import { type SerializedToolMapping, Translation } from "./translation.ts";

/**
 * Translates a request from the client's dialect to the provider's; the result translates the response back. Throws an
 * `invalid_request` GatewayError with the field's path for fields that the target does not support.
 */
export function translate(
  source: Source,
  target: Target,
  mint: Mint = newId,
  clock: WallClock = systemClock,
): Translation {
  if (source.dialect.name === target.dialect.name) return reread(target, { source, mint, clock });
  const client = source.dialect;
  const dropped = new DroppedFields(client.fieldNames);
  const read = client.readRequest(source.body, dropped);
  const request = target.rejectsSignatures === true ? withoutSignatures(read, dropped) : read;
  const { request: adapted, names, formatTool } = adaptRequest(request, target, dropped);
  const body = target.dialect.writeRequest(markCache(adapted, source, target), target, dropped);
  if (target.fields !== undefined) Object.assign(body, target.fields);
  const toolMapping = { names, formatTool, callId: callIdFor(client, mint) };
  return new Translation(body, dropped.fields, { target, call: { source, mint, clock }, toolMapping });
}

/**
 * If both speak the same dialect, requests and responses pass through as bytes. Only a response in the wrong form (JSON
 * instead of a stream, or a stream instead of JSON) is read and rewritten.
 */
function reread(target: Target, call: WriterContext): Translation {
  const callId = (id: string) => (id === "" ? call.mint("call_") : id);
  const toolMapping = { names: null, formatTool: null, callId };
  return new Translation(call.source.body, [], {
    target,
    call: { ...call, keepsSignatures: true },
    toolMapping,
  });
}

/** For a request that was translated on another thread: translates only the response. */
export function translationOfResponse(
  source: Source,
  target: Target,
  { tools, formatTool }: SerializedToolMapping,
  dropped: readonly string[],
): Translation {
  const callId = callIdFor(source.dialect, newId);
  const toolMapping = { names: ToolNames.of(tools), formatTool, callId };
  const call = { source, mint: newId, clock: systemClock };
  return new Translation(source.body, dropped, { target, call, toolMapping });
}

type Mint = WriterContext["mint"];

function callIdFor({ callIds }: ClientDialect, mint: Mint): (id: string) => string {
  return (id) => (id === "" ? mint("call_") : legalCallId(id, callIds));
}

/** Never modified, so it is shared by all conversations without tools. */
const noNames = new ToolNames({ tools: [], messages: [] });

/**
 * Adapts tools, call ids and formats to the target in the intermediate form, so that no writer has to. `names` map the
 * response's tool calls back to the client's tools; `formatTool` is the tool whose input is the response's text, null
 * if the target supports formats.
 */
function adaptRequest(request: IrRequest, target: Target, dropped: DroppedFields) {
  if (!mentionsTools(request)) return { ...forceFormat(request, target), names: noNames };
  const names = new ToolNames(request, target.dialect.toolRules);
  const paired = { ...request, messages: pairCallsWithResults(request.messages) };
  const adapted = adaptTools(paired, target, names, dropped);
  return { ...forceFormat(adapted, target), names };
}

/** A conversation without tools, as many are, needs no adapting. */
function mentionsTools(request: IrRequest): boolean {
  if (request.tools.length > 0 || request.toolChoice !== null || request.parallelToolCalls !== null)
    return true;
  return request.messages.some(holdsCallOrResult);
}

function holdsCallOrResult(message: IrMessage): boolean {
  for (const { type } of message.blocks) if (type === "tool_call" || type === "tool_result") return true;
  return false;
}

/** Removes the reasoning that a provider would recognise, and has rejected: its account, key or model is another now. */
function withoutSignatures(request: IrRequest, dropped: DroppedFields): IrRequest {
  const messages = request.messages.map((message) => withoutSignaturesIn(message, dropped));
  return { ...request, messages };
}

function withoutSignaturesIn(message: IrMessage, dropped: DroppedFields): IrMessage {
  if (message.role !== "assistant") return message;
  const blocks = message.blocks.filter(isUnproven);
  if (blocks.length < message.blocks.length) dropped.addNamed("reasoning");
  return { ...message, blocks };
}

function isUnproven(block: IrAssistantBlock): boolean {
  return block.type !== "reasoning" || block.signature === null || block.signature.maker === "chat";
}

const name = "answer_in_format";

/**
 * Makes a model without structured outputs respond through a tool whose schema is the format. If the client has its own
 * tools, the model can call those first, but it has to call one.
 */
function forceFormat(request: IrRequest, target: Target): { request: IrRequest; formatTool: string | null } {
  const { format } = request;
  if (format?.type !== "json_schema" || !target.dialect.toolRules.forcesFormat(target, request)) {
    return { request, formatTool: null };
  }
  const description = format.description ?? "Returns the final answer. Its input is shown to the user.";
  const tool = functionTool(name, description, format.schema);
  const free = request.tools.length === 0 || request.toolChoice?.type === "none";
  return {
    request: {
      ...request,
      format: null,
      tools: free ? [tool] : [...request.tools, tool],
      toolChoice: free ? { type: "tool", namespace: null, name } : { type: "required" },
    },
    formatTool: name,
  };
}

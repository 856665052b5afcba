import { systemClock } from "../../base/clock.ts";
import { newId } from "../../base/id.ts";
import type { ClientDialect, Source, WallClock, WriterContext } from "../client-dialect.ts";
import type { Target } from "../provider-dialect.ts";
import { legalCallId } from "../tools/call-id.ts";
import { ToolNames } from "../tools/names.ts";
import { adaptRequest, withoutSignatures } from "./adapt-request.ts";
import { DroppedFields } from "./field-decisions.ts";
import { markCache } from "./mark-cache.ts";
import { type SerializedToolMapping, Translation } from "./translation.ts";

/**
 * Translates a request from the client's dialect to the provider's; the result translates the answer back. Throws an
 * `invalid_request` GatewayError with the field's path for what the target cannot express.
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
 * If both speak the same dialect, requests and answers pass through as bytes. Only an answer in the wrong form (JSON
 * instead of a stream, or a stream instead of JSON) is read and written again.
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

/** For a request that was translated on another thread: only the answer is left to translate. */
export function translationOfAnswer(
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

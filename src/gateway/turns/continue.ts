import { type GatewayError, invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { inputItems, type TurnItem, withInput } from "../../dialects/openai-responses/client/turn-items.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { isItem, noSuchItem } from "../request/provider-id-owners.ts";
import type { ClientRequest } from "../request/request.ts";
import type { Turn } from "./turn-body.ts";
import { keepsResponses } from "./turns.ts";

/**
 * The request's bytes with the whole conversation that it continues, and with items in place of references to them; null if
 * nothing is missing. Notes in the exchange what is to be kept of its answer. What the gateway does not have is left as it
 * is: a provider may have it.
 */
export function continued(
  gateway: Gateway,
  exchange: Exchange,
  key: KeyRecord,
  request: ClientRequest,
): Promise<Uint8Array | null> | null {
  const { settings } = exchange.configured;
  const { bytes, truncated, mayStore } = request;
  const parentId = parentOf(truncated);
  if (!keepsResponses(settings)) {
    if (parentId !== null && settings.responses.state === "gateway") throw keepsNone();
    return null;
  }
  // A conversation is kept by the provider.
  if (truncated["conversation"] != null) return null;
  const references = referencedItems(request);
  if (parentId !== null || references.length > 0) {
    return withStored(gateway, exchange, key, request, parentId, references);
  }
  if (mayStore) exchange.keeping = { parentId, input: () => inputItems(bytes) };
  return null;
}

async function withStored(
  { turns }: Gateway,
  exchange: Exchange,
  { id: keyId }: KeyRecord,
  { bytes, mayStore }: ClientRequest,
  parentId: string | null,
  references: readonly string[],
): Promise<Uint8Array | null> {
  const { settings } = exchange.configured;
  const chain = parentId === null ? [] : await turns.chain(keyId, parentId, settings);
  if (chain === null) return null;
  const found = await turns.findItems(keyId, references, settings);
  if (chain.length === 0 && found.size === 0) return null;
  const input = newItems(inputItems(bytes), chain, found);
  if (mayStore && !input.some(isReference)) exchange.keeping = { parentId, input: () => input };
  return withInput(bytes, [...chain.flatMap(replayed), ...input]);
}

function parentOf({ previous_response_id: id }: JsonObject): string | null {
  return typeof id === "string" && id !== "" ? id : null;
}

function referencedItems({ mentions: { references } }: ClientRequest): readonly string[] {
  return references.filter(isItem).map(({ id }) => id);
}

function isReference({ type }: TurnItem): boolean {
  return type === "item_reference";
}

/** A turn as a part of the conversation. */
export function replayed({ input, output }: Turn): readonly TurnItem[] {
  return [...input, ...output].filter(({ isLeftOut }) => !isLeftOut);
}

/**
 * What a request adds to the conversation that it continues, with items in place of references. What it repeats of the
 * conversation is left out: providers refuse an item or a call that comes twice.
 */
export function newItems(
  sent: readonly TurnItem[],
  chain: readonly Turn[],
  found: ReadonlyMap<string, TurnItem>,
): readonly TurnItem[] {
  const said = chain.flatMap(({ input, output }) => [...input, ...output]);
  const ids = new Set(said.map(({ id }) => id));
  const calls = new Set(said.map(callOf));
  return sent.flatMap((item, index) => {
    if (item.id !== null && ids.has(item.id)) return [];
    const meant = isReference(item) ? (found.get(item.id ?? "") ?? item) : item;
    if (meant.isLeftOut && meant !== item) return [];
    if (chain.length === 0) return [meant];
    if (isReference(meant)) throw noSuchItem(`input[${index}].id`, meant.id);
    const call = callOf(meant);
    if (call !== null && calls.has(call)) return [];
    const answered = answeredCalls[meant.type];
    if (answered !== undefined && !calls.has(`${answered} ${meant.callId}`)) {
      throw answersNoCall(index, meant.callId);
    }
    calls.add(call);
    return [meant];
  });
}

/** The calls that these items answer. */
const answeredCalls: Readonly<Record<string, string | undefined>> = {
  function_call_output: "function_call",
  custom_tool_call_output: "custom_tool_call",
};

/** Tells a call, or the answer to one, from all others. */
function callOf({ type, callId }: TurnItem): string | null {
  return callId === null ? null : `${type} ${callId}`;
}

function answersNoCall(index: number, callId: string | null): GatewayError {
  const message = `No tool call found for ${JSON.stringify(callId)}: an output needs the call that it answers before it.`;
  return invalidRequest(message, `input[${index}].call_id`);
}

function keepsNone(): GatewayError {
  const message = "No responses are kept here to continue from. Send the whole conversation in `input`.";
  return invalidRequest(message, "previous_response_id");
}

import { type GatewayError, invalidRequest } from "../../base/errors.ts";
import {
  isCompaction,
  keptMessages,
  mayHaveSeal,
} from "../../dialects/openai-responses/client/compaction.ts";
import { sizeOf, type TurnItem, withInput } from "../../dialects/openai-responses/client/turn-items.ts";
import type { RequestKind } from "../../dialects/schema/validate.ts";
import type { Exchange } from "../exchange.ts";
import { wasAnswered } from "../request/idempotent.ts";
import { isItem, noSuchItem, noSuchResponse } from "../request/provider-id-owners.ts";
import type { ClientRequest } from "../request/request.ts";
import type { AdmittedCall } from "../stages.ts";
import { type Conversation, pathOfItem } from "./compacting.ts";
import {
  compactsItself,
  conversationIn,
  hasTrigger,
  parentOf,
  summarise,
  withoutTrigger,
  withSummaries,
} from "./compaction.ts";
import { noSuchConversation } from "./conversation-lock.ts";
import { isMinted, mayHaveMinted, withoutMinted } from "./item-ids.ts";
import { KnownCalls } from "./known-calls.ts";
import { sentPaths } from "./sent-paths.ts";
import { conversationBytes, keepsConversations, keepsResponses } from "./storage-settings.ts";
import type { Turn, TurnInMaking } from "./turn-body.ts";
import type { TurnReader } from "./turns.ts";
import { verbatimRequest } from "./verbatim-turn.ts";

/** The pieces of a request as it goes on, and as what it is to be read. */
export interface ContinuedBody {
  readonly pieces: readonly Uint8Array[];
  readonly kind: RequestKind;
}

/**
 * The request with the whole conversation that it continues, with items in place of references to them and summaries in place
 * of those that were sealed here, or a request for a summary of all that; null if it goes on as it is. Notes in the exchange what
 * is to be kept of its answer, and what its answer is. What the gateway does not have is left as it is: a provider may have it. `reserve`
 * is called before much is read, and throws if there is no room for it.
 */
export function continued(
  admitted: AdmittedCall,
  request: ClientRequest,
  kind: RequestKind,
  reserve: (bytes: number) => void,
): Promise<ContinuedBody | null> | null {
  const { exchange } = admitted;
  const { settings } = exchange.configured;
  const { bytes, truncated } = request;
  const parentId = parentOf(truncated);
  const isCompacted = kind === "compact" || (kind === "responses" && hasTrigger(truncated));
  if (isCompacted && !settings.routes.compact) throw compactsNone();
  const canKeep = keepsResponses(settings) || exchange.call.remembered !== undefined;
  if (!canKeep && parentId !== null && settings.responses.state === "gateway") throw keepsNone();
  const named = conversationIn(truncated);
  const conversationId = keepsConversations(settings) ? named : null;
  if (parentId !== null && named !== null) throw continuesBoth();
  // A conversation that is not kept here is kept by the provider.
  const isKept = canKeep && (conversationId !== null || named === null);
  const references = isKept && keepsResponses(settings) ? referencedItems(request) : [];
  const asked = { kind, isCompacted, isKept, parentId, conversationId, references, reserve };
  const isContinued = isKept && ((parentId ?? conversationId) !== null || references.length > 0);
  const hasMinted = mayHaveMinted(bytes) && request.inputItems().some(isMinted);
  if (isContinued || isCompacted || hasMinted || mayHaveSeal(bytes))
    return rewritten(admitted, request, asked);
  if (isKept) {
    const input = () => request.inputItems();
    const verbatim = exchange.call.remembered === undefined ? verbatimRequest(request) : undefined;
    noteTurn(exchange, request, { isCompacted, parentId, before: [], input, request: verbatim });
  }
  return null;
}

/** What is to be kept of the answer, if it is stored, belongs to a conversation, or is remembered by its connection. */
function noteTurn(
  exchange: Exchange,
  { mayStore }: ClientRequest,
  turn: Omit<TurnInMaking, "isStored" | "isProviders">,
): void {
  const { configured, call } = exchange;
  const { settings } = configured;
  const isStored = mayStore && keepsResponses(settings);
  const isProviders = mayStore && settings.responses.state === "provider";
  if (isStored || turn.conversation !== undefined || call.remembered !== undefined) {
    exchange.keeping = { ...turn, isStored, isProviders };
  }
}

interface Asked {
  readonly kind: RequestKind;
  readonly isCompacted: boolean;
  readonly isKept: boolean;
  readonly parentId: string | null;
  /** A conversation that is kept here. */
  readonly conversationId: string | null;
  readonly references: readonly string[];
  reserve(bytes: number): void;
}

async function rewritten(
  admitted: AdmittedCall,
  request: ClientRequest,
  asked: Asked,
): Promise<ContinuedBody | null> {
  if (await wasAnswered(admitted, request)) return null;
  const { exchange, key } = admitted;
  const { bytes, modelId } = request;
  const { kind, isCompacted, isKept, parentId, conversationId } = asked;
  const isNative = isCompacted && compactsItself(exchange.configured, key, modelId);
  exchange.isCompactedUpstream = isNative && kind === "compact";
  const { chain, named, sent, input, conversation, secret, paths } = await conversationOf(
    admitted,
    request,
    asked,
  );
  if (!conversation.isWhole && isCompacted && !isNative) throw noSuchResponse();
  const said = isCompacted && kind !== "compact" ? withoutTrigger(conversation) : conversation;
  if (isKept && conversation.isWhole && kind !== "compact" && !input.some(isReference)) {
    const keptAfter = isCompacted ? keptMessages(said.items).map(asNew) : input;
    const continuing = isCompacted
      ? { parentId: null, before: [] }
      : { parentId: parentId ?? conversationId, before: chain };
    const items = continuing.before.flatMap(allItems);
    const added = named === null ? undefined : { ...named, items };
    noteTurn(exchange, request, { isCompacted, ...continuing, input: () => keptAfter, conversation: added });
  }
  if (isCompacted && !isNative) {
    refuseMissing(said);
    const form = kind === "compact" ? "route" : "response";
    const pieces = await summarise(admitted, request, form, said, secret);
    return { pieces, kind: "responses" };
  }
  const { items, isWhole, naming } = conversation;
  const namesParent = (parentId ?? conversationId) !== null && isWhole;
  const isSame = !namesParent && items.length === sent.length && items.every((item, at) => item === sent[at]);
  if (isSame) return null;
  exchange.sentPaths = paths;
  return { pieces: withInput(bytes, items, isWhole ? naming : null), kind };
}

/** A summary of what is not here would lose it. Whoever may have it is not the one who writes the summary. */
function refuseMissing(conversation: Conversation): void {
  const place = conversation.items.findIndex(isReference);
  const missing = conversation.items[place];
  if (missing !== undefined) throw noSuchItem(`${pathOfItem(conversation, place)}.id`, missing.id);
}

/** Under another id: what came before it is gone, so that nothing can be continued from its place any more. */
function asNew(item: TurnItem): TurnItem {
  return { ...item, id: null };
}

/** Before it is joined: a short request may refer to a long item thousands of times. */
function refuseLong(items: readonly TurnItem[], mostBytes: number): void {
  if (sizeOf(items) <= mostBytes) return;
  throw invalidRequest(`The conversation is too large; at most ${mostBytes} bytes are accepted.`, "input");
}

/** Null if a provider may have it. On a WebSocket that is so only where providers keep all responses. */
async function chainOf(
  { gateway: { turns }, exchange }: AdmittedCall,
  reader: TurnReader,
  parentId: string,
): Promise<readonly Turn[] | null> {
  const { keyId, settings } = reader;
  const { remembered } = exchange.call;
  const own = remembered?.chain(parentId) ?? null;
  if (own !== null && (await turns.areStored(keyId, own))) return own;
  const isKept = keepsResponses(settings);
  const stored = isKept ? await turns.chain(reader, parentId) : null;
  if (stored !== null) return stored;
  const isOnSocket = remembered !== undefined && settings.responses.state === "gateway";
  // What is kept here continues something that is gone.
  const isBroken = isKept && (await turns.find(reader, parentId)) !== null;
  if (isOnSocket || isBroken) throw noSuchResponse();
  return null;
}

async function conversationOf(
  admitted: AdmittedCall,
  request: ClientRequest,
  { isCompacted, isKept, parentId, conversationId, references, reserve }: Asked,
) {
  const { keyId, configured } = admitted;
  const { turns } = admitted.gateway;
  const { settings } = configured;
  const reader = { keyId, settings, reserve };
  const named = conversationId === null ? null : await turns.conversation(reader, conversationId);
  if (conversationId !== null && named === null) throw noSuchConversation(conversationId);
  const earlier = parentId === null || !isKept ? null : await chainOf(admitted, reader, parentId);
  const chain = named === null ? (earlier ?? []) : [named];
  const sent = request.inputItems();
  const found = await turns.findItems(reader, references);
  const own = sent.map(withoutMinted);
  const input = newItems(own, chain, found);
  const before = chain.flatMap(replayed);
  const items = [...before, ...input];
  const isAdded = named !== null && request.mayStore && !isCompacted;
  refuseLong(items, isAdded ? conversationBytes(settings) : settings.server.maxBodyBytes);
  const isSealed = isCompacted || items.some(isCompaction);
  const secret = isSealed ? await turns.sealingSecret() : noSecret;
  const isWhole = parentId === null || earlier !== null;
  if (isWhole && items.length === 0) throw invalidRequest("There is nothing to continue.", "input");
  const naming = named === null ? "previous_response_id" : "conversation";
  const conversation = withSummaries({ items, stored: before.length, naming, isWhole }, secret, keyId);
  const paths = sentPaths(own, input, conversation);
  return { chain, named, sent, input, conversation, secret, paths };
}

const noSecret = new Uint8Array();

function referencedItems({ mentions: { references } }: ClientRequest): readonly string[] {
  return references.filter(isItem).map(({ id }) => id);
}

export function isReference({ type }: TurnItem): boolean {
  return type === "item_reference";
}

function allItems({ input, output }: Turn): readonly TurnItem[] {
  return [...input, ...output];
}

/** A turn as a part of the conversation. */
export function replayed(turn: Turn): readonly TurnItem[] {
  return allItems(turn).filter(({ isLeftOut }) => !isLeftOut);
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
  const said = chain.flatMap(allItems);
  const ids = new Set(said.map(({ id }) => id));
  const calls = new KnownCalls(said);
  return sent.flatMap((item, index) => {
    if (item.id !== null && ids.has(item.id)) return [];
    const meant = isReference(item) ? (found.get(item.id ?? "") ?? item) : item;
    if (meant.isLeftOut && meant !== item) return [];
    if (chain.length === 0) return [meant];
    if (isReference(meant)) throw noSuchItem(`input[${index}].id`, meant.id);
    if (calls.repeats(meant)) return [];
    calls.refuseOrphan(meant, `input[${index}]`);
    calls.add(meant);
    return [meant];
  });
}

function keepsNone(): GatewayError {
  const message = "No responses are kept here to continue from. Send the whole conversation in `input`.";
  return invalidRequest(message, "previous_response_id");
}

function continuesBoth(): GatewayError {
  const message =
    "A request continues a response or a conversation. Send `previous_response_id` or `conversation`.";
  return invalidRequest(message, "conversation");
}

function compactsNone(): GatewayError {
  return invalidRequest("Conversations are not compacted here. Leave the `compaction_trigger` out.", "input");
}

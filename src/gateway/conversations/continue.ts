import { type GatewayError, invalidRequest } from "../../base/errors.ts";
import { isObject, type Json } from "../../base/json.ts";
import type { Settings } from "../../config/settings.ts";
import { keptMessages, mayHaveSeal } from "../../dialects/openai-responses/client/compaction.ts";
import { type TurnItem, withInput } from "../../dialects/openai-responses/client/turn-items.ts";
import type { RequestKind } from "../../dialects/request-kinds.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { claimIdempotency, idempotencyKeyOf, type Replay } from "../exchange/claims.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { isItem, noSuchItem, noSuchResponse } from "../references/provider-id-owners.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { BodyReading } from "../request/read-request.ts";
import { noTurn, type ReadRequest } from "../request/route.ts";
import { type Compaction, type Conversation, pathOfItem } from "../turns/compacting.ts";
import { isMinted, mayBeMinted } from "../turns/item-ids.ts";
import { keepsConversations, keepsResponses, storedDialect } from "../turns/storage-settings.ts";
import type { TurnInMaking } from "../turns/turn-body.ts";
import { verbatimRequest } from "../turns/verbatim-turn.ts";
import { backgroundIn, foregroundOf, inBackground } from "./background-request.ts";
import {
  compactsItself,
  conversationIn,
  hasTrigger,
  parentOf,
  summarise,
  withoutTrigger,
} from "./compaction.ts";
import {
  allItems,
  type FoundConversation,
  findConversation,
  isReference,
  type Parent,
  type WantedConversation,
} from "./find-conversation.ts";

/** Reads and validates a request of Responses, with the conversation that it continues. */
export async function readWithConversation(admitted: AdmittedCall, kind: RequestKind): Promise<ReadRequest> {
  using reading = new BodyReading(admitted, kind);
  const sent = await reading.read();
  const background = kind === storedDialect ? backgroundIn(admitted, sent) : null;
  const request = background === null ? sent : await reading.rebuilt(sent, foregroundOf(sent), kind);
  const found = await continued(admitted, request, kind, (more) => reading.take(more));
  const { body, replay } = found;
  const turn = background === null ? found.turn : inBackground(found, request, background);
  if (body === null) return { request, turn, replay };
  return { request: await reading.rebuilt(request, body.pieces, body.kind), turn, replay };
}

/** The pieces of the request to send on, and how to read them. */
interface ContinuedBody {
  readonly pieces: readonly Uint8Array[];
  readonly kind: RequestKind;
}

/** The result of reading a request's conversation. */
interface ContinuedRequest extends Omit<ReadRequest, "request"> {
  /** The body to send instead of the client's; null if the request is sent unchanged. */
  readonly body: ContinuedBody | null;
}

/** A request's demands on its conversation. */
interface RequestedTurn extends WantedConversation {
  readonly kind: RequestKind;
}

/**
 * Inserts the whole conversation that a request continues, with items in place of references, and texts in place of
 * summaries that were encrypted here; or turns it into a request for a summary of all that. References that the gateway
 * does not have stay: a provider may have them. `reserve` is called before large reads, and throws if there is no room.
 */
async function continued(
  admitted: AdmittedCall,
  request: ClientRequest,
  kind: RequestKind,
  reserve: (bytes: number) => void,
): Promise<ContinuedRequest> {
  const asked = requestedTurn(admitted, request, kind, reserve);
  if (needsRewrite(request, asked)) return rewriteRequest(admitted, request, asked);
  const { exchange } = admitted;
  const keeping = asked.isKept ? keepingOf(exchange, request, firstTurn(exchange, request)) : null;
  return { turn: keeping === null ? noTurn : { ...noTurn, keeping }, body: null, replay: null };
}

/** A turn that continues nothing. */
function firstTurn({ call }: Exchange, request: ClientRequest): UnplacedTurn {
  const input = () => request.inputItems();
  const verbatim = call.origin.remembered === null ? verbatimRequest(request) : undefined;
  return { isCompacted: false, parentId: null, before: [], input, request: verbatim };
}

/** Throws for what cannot be continued here. */
function requestedTurn(
  { exchange }: AdmittedCall,
  request: ClientRequest,
  kind: RequestKind,
  reserve: RequestedTurn["reserve"],
): RequestedTurn {
  const { settings } = exchange.configured;
  const { truncated } = request;
  const parentId = parentOf(truncated);
  const summaryForm =
    kind === "compact" ? "route" : kind === storedDialect && hasTrigger(truncated) ? "response" : null;
  if (summaryForm !== null && !settings.routes.compact) throw compactsNone();
  const canKeep = keepsResponses(settings) || exchange.call.origin.remembered !== null;
  if (!canKeep && parentId !== null && settings.responses.state === "gateway") throw keepsNone();
  const conversationId = conversationIn(truncated);
  if (parentId !== null && conversationId !== null) throw continuesBoth();
  const isKept = canKeep && (conversationId === null || keepsConversations(settings));
  const references = isKept && keepsResponses(settings) ? referencedItems(request) : [];
  return {
    kind,
    summaryForm,
    parent: parentIn(parentId, conversationId, settings),
    isKept,
    references,
    reserve,
  };
}

function parentIn(parentId: string | null, conversationId: string | null, settings: Settings): Parent | null {
  if (parentId !== null) return { naming: "previous_response_id", id: parentId };
  if (conversationId === null || !keepsConversations(settings)) return null;
  return { naming: "conversation", id: conversationId };
}

function needsRewrite(
  request: ClientRequest,
  { summaryForm, parent, isKept, references }: RequestedTurn,
): boolean {
  if (summaryForm !== null || (isKept && (parent !== null || references.length > 0))) return true;
  return hasOwnItem(request);
}

/** Whether an item has an id that was made here, or is a summary that was sealed here. The parsed items spare most requests a closer look. */
function hasOwnItem(request: ClientRequest): boolean {
  const { input } = request.truncated;
  if (!Array.isArray(input)) return false;
  if (input.some(mayBeMinted) && request.inputItems().some(isMinted)) return true;
  return input.some(mayBeCompaction) && mayHaveSeal(request.bytes);
}

function mayBeCompaction(item: Json): boolean {
  const type = isObject(item) ? item["type"] : null;
  return typeof type === "string" && type.startsWith("compaction");
}

/** A turn before it is decided whether the gateway or the provider stores it. */
type UnplacedTurn = Omit<TurnInMaking, "isStored" | "isProviders">;

/** How the response is stored. Null if nothing stores it: not the gateway, not a conversation, and not its connection. */
function keepingOf(
  { configured, call }: Exchange,
  { mayStore }: ClientRequest,
  turn: UnplacedTurn,
): TurnInMaking | null {
  const { settings } = configured;
  const isStored = mayStore && keepsResponses(settings);
  if (!isStored && turn.conversation === undefined && call.origin.remembered === null) return null;
  return { ...turn, isStored, isProviders: mayStore && settings.responses.state === "provider" };
}

async function rewriteRequest(
  admitted: AdmittedCall,
  request: ClientRequest,
  asked: RequestedTurn,
): Promise<ContinuedRequest> {
  const replay = await claimEarly(admitted, request);
  if (replay !== null) return { turn: noTurn, body: null, replay };
  const found = await findConversation(admitted, request, asked);
  const { summaryForm } = asked;
  if (summaryForm !== null) return compacted(admitted, request, asked, summaryForm, found);
  const { chain, named, input } = found;
  const conversation = named === null ? undefined : { ...named, items: chain.flatMap(allItems) };
  const parentId = asked.parent?.id ?? null;
  const turn = { isCompacted: false, parentId, before: chain, input: () => input, conversation };
  const keeping = canBeKept(asked, found) ? keepingOf(admitted.exchange, request, turn) : null;
  const body = rebuiltBody(admitted.exchange, request, asked, found);
  return { turn: { ...noTurn, keeping }, body, replay: null };
}

/** Claims the idempotency key before loading the conversation, which may have grown since the stored response, or be gone. */
async function claimEarly(admitted: AdmittedCall, request: ClientRequest): Promise<Replay | null> {
  const { call } = admitted.exchange;
  const idempotencyKey = call.route.isCharged ? idempotencyKeyOf(call) : null;
  return idempotencyKey === null ? null : claimIdempotency(admitted, idempotencyKey, request);
}

/** Compacted by a provider that supports this, or as a summary that the gateway encrypts. */
async function compacted(
  admitted: AdmittedCall,
  request: ClientRequest,
  asked: RequestedTurn,
  form: Compaction["form"],
  found: FoundConversation,
): Promise<ContinuedRequest> {
  const { exchange, configured, key } = admitted;
  const { named, conversation, secret } = found;
  const isNative = compactsItself(configured, key, request.modelId);
  if (!conversation.isWhole && !isNative) throw noSuchResponse();
  const summarised = form === "response" ? withoutTrigger(conversation) : conversation;
  const turn = {
    isCompacted: true,
    parentId: null,
    before: [],
    input: () => keptMessages(summarised.items).map(asNew),
    conversation: named === null ? undefined : { ...named, items: [] },
  };
  const isKept = form === "response" && canBeKept(asked, found);
  const keeping = isKept ? keepingOf(exchange, request, turn) : null;
  if (isNative) {
    const body = rebuiltBody(exchange, request, asked, found);
    const isCompactedUpstream = form === "route";
    return { turn: { ...noTurn, keeping, isCompactedUpstream }, body, replay: null };
  }
  rejectMissing(summarised);
  const summary = await summarise(admitted, request, form, summarised, secret, keeping);
  const body = { pieces: summary.pieces, kind: storedDialect } as const;
  const { compaction } = summary;
  return { turn: { ...noTurn, keeping, compaction }, body, replay: null };
}

/** Whether the gateway has all that the turn belongs to. */
function canBeKept({ isKept }: RequestedTurn, { conversation, input }: FoundConversation): boolean {
  return isKept && conversation.isWhole && !input.some(isReference);
}

/** The request with the whole conversation as its input; null if that is what the client has sent. */
function rebuiltBody(
  exchange: Exchange,
  { bytes }: ClientRequest,
  { kind, parent }: RequestedTurn,
  { sent, conversation, paths }: FoundConversation,
): ContinuedBody | null {
  const { items, isWhole, naming } = conversation;
  const isSame = items.length === sent.length && items.every((item, at) => item === sent[at]);
  if (isSame && !(parent !== null && isWhole)) return null;
  exchange.sentPaths = paths;
  return { pieces: withInput(bytes, items, isWhole ? naming : null), kind };
}

/** A summary would lose items that are not stored here. A provider may have them, but not the one that writes the summary. */
function rejectMissing(conversation: Conversation): void {
  const place = conversation.items.findIndex(isReference);
  const missing = conversation.items[place];
  if (missing !== undefined) throw noSuchItem(`${pathOfItem(conversation, place)}.id`, missing.id);
}

/** The item under a new id: earlier items are gone, so nothing can be continued from its position any more. */
function asNew(item: TurnItem): TurnItem {
  return { ...item, id: null };
}

function referencedItems({ mentions: { references } }: ClientRequest): readonly string[] {
  return references.filter(isItem).map(({ id }) => id);
}

function keepsNone(): GatewayError {
  const message = "This gateway does not store responses. Send the full conversation in `input`.";
  return invalidRequest(message, "previous_response_id");
}

function continuesBoth(): GatewayError {
  const message = "Send `previous_response_id` or `conversation`, not both.";
  return invalidRequest(message, "conversation");
}

function compactsNone(): GatewayError {
  return invalidRequest(
    "Compaction is turned off on this gateway. Remove the `compaction_trigger`.",
    "input",
  );
}

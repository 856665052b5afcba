import { type GatewayError, invalidRequest } from "../../base/errors.ts";
import { unfinishedStatus } from "../../dialects/openai-responses/client/background.ts";
import { isCompaction } from "../../dialects/openai-responses/client/compaction.ts";
import {
  type NamingField,
  sizeOf,
  type TurnItem,
} from "../../dialects/openai-responses/client/turn-items.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import type { SentPaths } from "../exchange/exchange.ts";
import { noSuchItem, noSuchResponse } from "../references/provider-id-owners.ts";
import type { ClientRequest } from "../request/client-request.ts";
import type { Compaction, Conversation } from "../turns/compacting.ts";
import { noSuchConversation } from "../turns/conversation-errors.ts";
import { withoutMinted } from "../turns/item-ids.ts";
import { conversationBytes, keepsResponses } from "../turns/storage-settings.ts";
import type { KeptTurn, Turn } from "../turns/turn-body.ts";
import type { TurnReader, Turns } from "../turns/turns.ts";
import { withSummaries } from "./compaction.ts";
import { KnownCalls } from "./known-calls.ts";
import { sentPaths } from "./sent-paths.ts";

/** The conversation of a request. */
export interface WantedConversation {
  /** The form of the response with the summary; null if none is requested. */
  readonly summaryForm: Compaction["form"] | null;
  /** The response or conversation that it continues, if that may be stored here. */
  readonly parent: Parent | null;
  /** Whether the gateway may keep the turn. A conversation that it does not have is kept by the provider. */
  readonly isKept: boolean;
  /** Ids of items in place of the items themselves. */
  readonly references: readonly string[];
  reserve(bytes: number): void;
}

/** The response or conversation that a request names. */
export interface Parent {
  readonly naming: NamingField;
  readonly id: string;
}

/** The conversation that a request belongs to, with what the request adds to it. */
export interface FoundConversation {
  /** The earlier turns, oldest first. */
  readonly chain: readonly Turn[];
  /** The conversation that the client has named; null if it has named none. */
  readonly named: KeptTurn | null;
  /** The items as the client has sent them. */
  readonly sent: readonly TurnItem[];
  /** The new items among them. */
  readonly input: readonly TurnItem[];
  readonly conversation: Conversation;
  /** Opens what was encrypted here; empty if nothing is. */
  readonly secret: Uint8Array;
  readonly paths: SentPaths;
}

/** Throws if the conversation does not exist, or is too long to be continued. */
export async function findConversation(
  admitted: AdmittedCall,
  request: ClientRequest,
  { summaryForm, isKept, parent, references, reserve }: WantedConversation,
): Promise<FoundConversation> {
  const { keyId, configured } = admitted;
  const { turns } = admitted.gateway;
  const { settings } = configured;
  const reader = { keyId, settings, reserve };
  const named = parent?.naming === "conversation" ? await namedConversation(turns, reader, parent.id) : null;
  const continuesResponse = parent?.naming === "previous_response_id";
  const earlier = continuesResponse && isKept ? await chainOf(admitted, reader, parent.id) : null;
  const chain = named === null ? (earlier ?? []) : [named];
  const sent = request.inputItems();
  const found = await turns.findItems(reader, references);
  const own = sent.map(withoutMinted);
  const input = newItems(own, chain, found);
  const before = chain.flatMap(replayed);
  const items = [...before, ...input];
  const grows = named !== null && request.mayStore && summaryForm === null;
  rejectLong(items, grows ? conversationBytes(settings) : settings.server.maxBodyBytes);
  const isSealed = summaryForm !== null || items.some(isCompaction);
  const secret = isSealed ? await turns.sealingSecret() : noSecret;
  const isWhole = !continuesResponse || earlier !== null;
  if (isWhole && items.length === 0) throw invalidRequest("`input` is empty.", "input");
  const naming = named === null ? "previous_response_id" : "conversation";
  const conversation = withSummaries({ items, stored: before.length, naming, isWhole }, secret, keyId);
  const paths = sentPaths(own, input, conversation);
  return { chain, named, sent, input, conversation, secret, paths };
}

async function namedConversation(turns: Turns, reader: TurnReader, id: string): Promise<KeptTurn> {
  const found = await turns.conversation(reader, id);
  if (found === null) throw noSuchConversation(id);
  return found;
}

const noSecret = new Uint8Array();

export function isReference({ type }: TurnItem): boolean {
  return type === "item_reference";
}

/** The items of a turn, oldest first. */
export function allItems({ input, output }: Turn): readonly TurnItem[] {
  return [...input, ...output];
}

/** A turn as a part of the conversation. */
export function replayed(turn: Turn): readonly TurnItem[] {
  return allItems(turn).filter(({ isLeftOut }) => !isLeftOut);
}

/**
 * The items that a request adds to the conversation that it continues, with items in place of references. Repeated
 * items are dropped: providers reject an item or a call that occurs twice.
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
    calls.rejectOrphan(meant, `input[${index}]`);
    calls.add(meant);
    return [meant];
  });
}

/** Checked before joining: a short request may refer to a long item thousands of times. */
function rejectLong(items: readonly TurnItem[], maxBytes: number): void {
  if (sizeOf(items) <= maxBytes) return;
  throw invalidRequest(`The conversation is too large: the maximum is ${maxBytes} bytes.`, "input");
}

/** Null if a provider may have it. On a WebSocket that is so only where providers keep all responses. */
async function chainOf(
  { gateway: { turns }, exchange }: AdmittedCall,
  reader: TurnReader,
  parentId: string,
): Promise<readonly Turn[] | null> {
  const { keyId, settings } = reader;
  const { remembered } = exchange.call.origin;
  const own = remembered?.chain(parentId) ?? null;
  if (own !== null && (await turns.areStored(keyId, own))) return own;
  const isKept = keepsResponses(settings);
  const stored = isKept ? await turns.chain(reader, parentId) : null;
  if (stored !== null) return completed(stored);
  const isOnSocket = remembered !== null && settings.responses.state === "gateway";
  // The response is stored, but an earlier one in its chain is gone.
  const broken = isKept ? await turns.find(reader, parentId) : null;
  if (broken !== null) completed([broken]);
  if (isOnSocket || broken !== null) throw noSuchResponse();
  return null;
}

/** The chain, if its last response can be continued. Throws if that has not ended, or not properly. */
function completed(chain: readonly Turn[]): readonly Turn[] {
  const last = chain.at(-1);
  const status = last === undefined ? null : unfinishedStatus(last.head);
  if (last === undefined || status === null) return chain;
  throw notCompleted(last.id, status);
}

function notCompleted(id: string, status: string): GatewayError {
  const state =
    status === "queued"
      ? "has not ended yet. Wait until its status is completed"
      : `is ${status}. Continue another one`;
  return invalidRequest(`Response '${id}' ${state}.`, "previous_response_id");
}

import { type GatewayError, invalidRequest } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { misreadError } from "../../dialects/names/inspect-body.ts";
import { compactionTrigger, mayHaveSeal } from "../../dialects/openai-responses/client/compaction.ts";
import type { TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import { misplacedTrigger, withSummary } from "../conversations/compaction.ts";
import { isReference } from "../conversations/find-conversation.ts";
import { KnownCalls } from "../conversations/known-calls.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { noSuchItem } from "../references/provider-id-owners.ts";
import { readRequest } from "../request/read-request.ts";
import { isAddressable, withoutMinted } from "../turns/item-ids.ts";
import type { TurnReader } from "../turns/turns.ts";

/** A call that reads or changes a conversation, and how it reads. */
export interface ConversationCall extends TurnReader {
  readonly admitted: AdmittedCall;
}

interface SentChange {
  readonly items: readonly TurnItem[];
  readonly metadata: Json;
}

/**
 * Reads a change, with items in place of references to them. Throws for items for which a response that uses them would
 * be rejected.
 */
export async function readChange(
  call: ConversationCall,
  kind: "conversation" | "conversation_items" | "conversation_update",
): Promise<SentChange> {
  const { gateway, exchange, key } = call.admitted;
  // The official SDKs send no body for a conversation without anything.
  if (kind === "conversation" && exchange.call.request.body === null) return { items: [], metadata: {} };
  const { turns, idOwners } = gateway;
  const request = await readRequest(call.admitted, kind);
  // These items may later be sent to any provider.
  if (request.mentions.misread !== null) throw misreadError(request.mentions.misread);
  const things = request.mentions.references.filter((reference) => reference.kind === "thing");
  if (things.length > 0) await idOwners.find(key, things);
  const sent = request.inputItems();
  const references = sent.flatMap((item) => (isReference(item) ? (item.id ?? []) : []));
  const found = await turns.findItems(call, references);
  const secret = mayHaveSeal(request.bytes) ? await turns.sealingSecret() : null;
  const items = sent.map((item, place) => {
    const path = `items[${place}]`;
    const meant = isReference(item) ? found.get(item.id ?? "") : item;
    if (item.type === compactionTrigger) throw misplacedTrigger(path);
    if (meant === undefined) throw noSuchItem(`${path}.id`, item.id);
    if (meant === item && !isAddressable(item)) throw cannotBeAskedFor(`${path}.id`);
    if (secret !== null) withSummary(meant, secret, key.id, path);
    return withoutMinted(meant);
  });
  return { items, metadata: request.truncated["metadata"] ?? {} };
}

function cannotBeAskedFor(path: string): GatewayError {
  const message = `\`${path}\` cannot be part of a URL. Use letters, digits, \`_\` and \`-\`, or remove the id.`;
  return invalidRequest(message, path);
}

/** As OpenAI does: no id comes twice, and the output of a tool comes after its call. */
export function rejectUnfit(known: readonly TurnItem[], added: readonly TurnItem[]): void {
  const ids = new Set<string | null>(known.map(({ id }) => id));
  const calls = new KnownCalls(known);
  for (const [place, item] of added.entries()) {
    const path = `items[${place}]`;
    if (item.id !== null && ids.has(item.id)) throw isThere(`${path}.id`, item.id);
    calls.rejectOrphan(item, path);
    ids.add(item.id);
    calls.add(item);
  }
}

function isThere(path: string, id: string): GatewayError {
  return invalidRequest(`The conversation already has an item ${JSON.stringify(id)}.`, path);
}

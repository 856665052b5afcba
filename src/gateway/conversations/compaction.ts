import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { decryptText, type Encryption, encryptText } from "../../base/secrets/encrypt.ts";
import type { Settings } from "../../config/settings.ts";
import { asIs, type OutputLimit, type PublishedLimits } from "../../dialects/contract/output-limit.ts";
import {
  compactionTrigger,
  encryptedSummaryIn,
  isCompaction,
  keptMessages,
  summaryMessage,
  summaryRequest,
} from "../../dialects/openai-responses/client/compaction.ts";
import { sizeOf, type TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import { clientDialect } from "../../dialects/registry.ts";
import type { KeyRecord } from "../../store/store.ts";
import { vendorOf } from "../../vendors/registry.ts";
import type { ActiveConfig } from "../active-config.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import type { ClientRequest } from "../request/client-request.ts";
import { type Compaction, type Conversation, pathOfItem } from "../turns/compacting.ts";
import { storedDialect } from "../turns/storage-settings.ts";
import type { TurnInMaking } from "../turns/turn-body.ts";
import { summaryJob } from "./item-jobs.ts";

function encryptionOf(secret: Uint8Array, keyId: string): Encryption {
  return { key: secret, context: keyId, version: 1 };
}

export function hasTrigger({ input }: JsonObject): boolean {
  return Array.isArray(input) && input.some((item) => isObject(item) && item["type"] === compactionTrigger);
}

/** Removes the trigger, which must be the last item. */
export function withoutTrigger(conversation: Conversation): Conversation {
  const { items } = conversation;
  const place = items.findIndex(({ type }) => type === compactionTrigger);
  if (place === items.length - 1) return { ...conversation, items: items.slice(0, -1) };
  throw misplacedTrigger(pathOfItem(conversation, place));
}

export function misplacedTrigger(path: string): GatewayError {
  return invalidRequest("A `compaction_trigger` must be the last item of `input`.", path);
}

/** Replaces the compaction items that were encrypted here by their summaries. */
export function withSummaries(conversation: Conversation, secret: Uint8Array, keyId: string): Conversation {
  const items = conversation.items.map((item, place) =>
    withSummary(item, secret, keyId, pathOfItem(conversation, place)),
  );
  return { ...conversation, items };
}

/** Returns the summary if the item was encrypted here. Throws if it belongs to another key. */
export function withSummary(item: TurnItem, secret: Uint8Array, keyId: string, param: string): TurnItem {
  const encrypted = encryptedSummaryIn(item);
  if (encrypted === null) return item;
  const summary = decryptText(encrypted, encryptionOf(secret, keyId));
  if (summary !== null) return summaryMessage(Buffer.from(summary).toString());
  const message = "This compaction belongs to another key, or was modified. Send the conversation itself.";
  throw new GatewayError("invalid_encrypted_content", message, { param });
}

/** Whether every provider that can be called compacts conversations itself. */
export function compactsItself(
  { catalog, settings }: ActiveConfig,
  key: KeyRecord,
  modelId: string,
): boolean {
  const model = catalog.find(modelId);
  if (model === undefined) return false;
  const reached = catalog.reached(model, key.scope);
  return reached.every(({ provider, dialects }) => {
    const kind = settings.providers.get(provider)?.kind;
    return (
      dialects.includes(storedDialect) && kind !== undefined && vendorOf(kind).compactsResponses === true
    );
  });
}

/** A request for a summary, and how to turn the result into a response. */
interface SummaryRequest {
  readonly compaction: Compaction;
  readonly pieces: readonly Uint8Array[];
}

export async function summarise(
  admitted: AdmittedCall,
  { quickBody, truncated, bytes, modelId, stream }: ClientRequest,
  form: Compaction["form"],
  conversation: Conversation,
  secret: Uint8Array,
  keeping: TurnInMaking | null,
): Promise<SummaryRequest> {
  const { gateway, exchange, keyId } = admitted;
  const { items } = conversation;
  const foreign = items.findIndex(isCompaction);
  if (foreign !== -1) {
    const message = `Item ${JSON.stringify(items[foreign]?.id)} is another provider's compaction, which this model's provider cannot read.`;
    throw invalidRequest(message, pathOfItem(conversation, foreign));
  }
  const { settings, catalog } = exchange.configured;
  const model = catalog.find(modelId);
  const source = {
    dialect: clientDialect(storedDialect),
    body: quickBody,
    model: model?.id ?? modelId,
    nowSeconds: Math.floor(exchange.atMs / 1000),
    estimatedInputTokens: 0,
    kept: keeping === null ? undefined : { parentId: continuedId(truncated), isStored: keeping.isStored },
  };
  const compaction: Compaction = {
    form,
    kept: keptMessages(items).map((item) => ({ ...item, id: item.id ?? newId("msg_") })),
    context: { source, id: newId("resp_"), itemId: newId("cmp_") },
    seal: (summary) => encryptText(Buffer.from(summary), encryptionOf(secret, keyId)),
  };
  const maxOutputTokens = maxSummaryTokens(settings, model);
  const changes = { maxOutputTokens, stream: form === "response" && stream };
  if (sizeOf(items) < largeBodyBytes) {
    return { compaction, pieces: summaryRequest(bytes, items, conversation.naming, changes) };
  }
  const asked = [bytes, items, conversation.naming, changes] as const;
  return { compaction, pieces: [await gateway.largeBodies.runRequest(summaryJob, asked, admitted)] };
}

function maxSummaryTokens({ responses }: Settings, model: PublishedLimits | undefined): number {
  return Math.min(responses.compactionMaxTokens, model?.maxOutputTokens ?? responses.compactionMaxTokens);
}

/** A provider that compacts by itself is held for as much as a summary may have. */
export function compactionLimit({ settings }: ActiveConfig, model: PublishedLimits): OutputLimit {
  return asIs(maxSummaryTokens(settings, model));
}

/** The response or the conversation that a request continues. */
function continuedId(body: JsonObject): string | null {
  return parentOf(body) ?? conversationIn(body);
}

export function parentOf({ previous_response_id: id }: JsonObject): string | null {
  if (id == null) return null;
  if (typeof id === "string" && id !== "") return id;
  throw invalidRequest("`previous_response_id` must be the id of a response.", "previous_response_id");
}

/** The conversation that a request names, as a text or as an object with its id; null if it names none. */
export function conversationIn({ conversation }: JsonObject): string | null {
  if (conversation == null) return null;
  const id = isObject(conversation) ? conversation["id"] : conversation;
  if (typeof id === "string" && id !== "") return id;
  throw invalidRequest("`conversation` must be an id, or an object with one.", "conversation");
}

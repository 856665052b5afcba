import { msPerHour } from "../../base/clock.ts";
import { isConversationId } from "../../base/id.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Settings } from "../../config/settings.ts";
import { cutText } from "../../dialects/json/parse-body.ts";
import { itemIds } from "../../dialects/openai-responses/client/turn-items.ts";
import type { EndedIds } from "../../dialects/provider-response/stream-reader.ts";
import type { TurnRecord } from "../../store/store.ts";
import { keysOf, ownGroupOf } from "./item-ids.ts";
import { type VerbatimRequest, verbatimBody } from "./turn-body.ts";

/**
 * Most turns are short and continue nothing. Their request and response are stored verbatim, and split into items only
 * when they are read: splitting takes as long as writing the row.
 */

/** Longer ones mostly have instructions and tools, which nothing needs that continues them. */
const maxRequestBytes = 16 * 1024;
/** Longer ones are written ahead in parts. */
const maxAnswerBytes = 32 * 1024;

/** Undefined if the request has to be split. It is parsed already, with long texts cut. */
export function verbatimRequest({
  bytes,
  truncated,
}: {
  readonly bytes: Uint8Array;
  readonly truncated: JsonObject;
}): VerbatimRequest | undefined {
  const { input } = truncated;
  if (bytes.length > maxRequestBytes) return undefined;
  if (!Array.isArray(input)) return { bytes, itemIds: [], hasUnnamed: typeof input === "string" };
  const ids = itemIds(input);
  if (ids.includes(cutText)) return undefined;
  return { bytes, itemIds: ids, hasUnnamed: ids.length < input.length };
}

const unnamed = [{ id: null }];

export interface VerbatimFacts {
  readonly keyId: string;
  readonly model: string;
  readonly provider: string;
  readonly request: VerbatimRequest;
  readonly answer: Uint8Array;
  readonly endedIds: EndedIds;
}

/** Stored by the settle; null if the turn has to be split. */
export function verbatimTurn(
  { keyId, model, provider, request, answer, endedIds: { id, items } }: VerbatimFacts,
  { retention, responses, server }: Settings,
  keyBytes: number,
  createdAtMs: number,
): TurnRecord | null {
  const bytes = request.bytes.length + answer.length;
  const hasRoom = bytes <= Math.min(keyBytes, server.maxBodyBytes);
  if (!hasRoom || answer.length > maxAnswerBytes || isConversationId(id)) return null;
  const group = ownGroupOf(id, request.hasUnnamed ? unnamed : []);
  const { encryptionKey } = responses;
  const content = { request: request.bytes, response: answer, group };
  // Without a copy where nothing has to be added: 4 µs less per turn.
  const isPlain = encryptionKey === null && group === null;
  return {
    keyId,
    id,
    parentId: null,
    model,
    provider,
    createdAtMs,
    expiresAtMs: createdAtMs + retention.responseHours * msPerHour,
    bytes,
    items: keysOf(group, request.itemIds, items),
    keyBytes,
    ...(isPlain
      ? { body: answer, request: request.bytes }
      : { body: verbatimBody(id, content, encryptionKey) }),
  };
}

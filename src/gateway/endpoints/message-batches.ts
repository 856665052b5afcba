import { Type } from "@sinclair/typebox";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { modeOrigins } from "../../base/key-attributes.ts";
import type { BatchRecord } from "../../store/store.ts";
import { admit } from "../admission/admit.ts";
import { originReachedAt } from "../admission/reached-at.ts";
import { ownerOf } from "../batches/batch-owner.ts";
import { beginBatch, requestScanner } from "../batches/begin.ts";
import { downloadResponse } from "../batches/download.ts";
import { messageDialect } from "../batches/message-dialect.ts";
import { messagesPrefix, resultLines } from "../batches/results.ts";
import { type StoredInput, storeInput } from "../batches/upload.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { urlOf } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { keptOperations, retriable, type ServedOperation } from "../exchange/served-operation.ts";
import { takePieces } from "../request/read-request.ts";
import { commonHeaders } from "../response/headers.ts";
import { inputFilesOf, limitIn, objectResponse } from "./files.ts";
import { segmentOf } from "./item-list.ts";

const openAiOperation = keptOperations("batches", "insufficient_credit", "limit_reached");

const { errorFormat, route } = messageDialect;

/** Anthropic's clients send either credential, and read its errors. */
const operation: typeof openAiOperation = (...described) => ({
  ...openAiOperation(...described),
  errors: errorFormat,
  keyHeader: route.keyHeader,
});

const path = "/v1/messages/batches";
const one = `${path}/:message_batch_id`;

const time = Type.Union([Type.String(), Type.Null()]);
const text = time;

const batchSchema = Type.Object({
  id: Type.String(),
  type: Type.Literal("message_batch"),
  processing_status: Type.String({ description: "in_progress, canceling or ended." }),
  request_counts: Type.Object({
    processing: Type.Integer(),
    succeeded: Type.Integer(),
    errored: Type.Integer(),
    canceled: Type.Integer(),
    expired: Type.Integer(),
  }),
  created_at: Type.String(),
  expires_at: Type.String(),
  ended_at: time,
  cancel_initiated_at: time,
  archived_at: Type.Null(),
  results_url: text,
});
const batch = { response: "MessageBatch", schemas: { MessageBatch: batchSchema } };

const batchRequest = Type.Object({
  requests: Type.Array(
    Type.Object({
      custom_id: Type.String({ pattern: "^[\\w-]{1,64}$" }),
      params: Type.Object({}, { description: "The body of a request to `/v1/messages`." }),
    }),
    { minItems: 1 },
  ),
});

export const messageBatchOperations: readonly ServedOperation[] = [
  retriable(
    operation("POST", path, createBatch, {
      operationId: "createMessageBatch",
      summary: "Create a message batch",
      request: "MessageBatchRequest",
      ...batch,
      schemas: { MessageBatchRequest: batchRequest, ...batch.schemas },
    }),
  ),
  operation("GET", path, listBatches, {
    operationId: "listMessageBatches",
    summary: "List message batches, newest first",
    query: [
      { name: "limit", in: "query", schema: { type: "integer", minimum: 1, maximum: 1000, default: 20 } },
      { name: "after_id", in: "query", schema: { type: "string" } },
      { name: "before_id", in: "query", schema: { type: "string" } },
    ],
    response: "MessageBatchList",
    schemas: {
      MessageBatchList: Type.Object({
        data: Type.Array(batchSchema),
        first_id: text,
        last_id: text,
        has_more: Type.Boolean(),
      }),
    },
  }),
  operation("GET", one, showBatch, {
    operationId: "getMessageBatch",
    summary: "Get a message batch",
    ...batch,
  }),
  operation("POST", `${one}/cancel`, cancelBatch, {
    operationId: "cancelMessageBatch",
    summary: "Cancel a message batch",
    ...batch,
  }),
  operation("DELETE", one, deleteBatch, {
    operationId: "deleteMessageBatch",
    summary: "Delete a message batch that has ended",
    response: "DeletedMessageBatch",
    schemas: {
      DeletedMessageBatch: Type.Object({
        id: Type.String(),
        type: Type.Literal("message_batch_deleted"),
      }),
    },
  }),
  operation("GET", `${one}/results`, showResults, {
    operationId: "getMessageBatchResults",
    summary: "Download the results of a message batch",
    response: "MessageBatchResults",
    responseType: "application/x-jsonl",
    schemas: { MessageBatchResults: Type.String() },
  }),
];

async function createBatch(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  call.takeFormSlot();
  exchange.call.keepWaiting();
  const stored = await receiveBody(call);
  if ("before" in stored) return show(exchange, await find(call, stored.before));
  const { file } = stored;
  const terms = { prefix: messagesPrefix, endpoint: route.path, metadata: null, outputMs: null };
  try {
    const id = await beginBatch(call, { ...terms, file, scannerFor: requestScanner.bind(null, call) });
    return show(exchange, await find(call, id));
  } catch (error) {
    await gateway.batches.store.uploads.delete(call.keyId, file.id).catch(() => false);
    throw error;
  }
}

/** Stored while it arrives: a batch may be much longer than a request. */
async function receiveBody(call: AdmittedCall): Promise<StoredInput> {
  const { exchange, configured } = call;
  const files = inputFilesOf(call);
  const { windowMs } = configured.settings.batches;
  return storeInput(call, files, "requests", async (writer) => {
    await takePieces(exchange.call.request, exchange.signal, (piece) => writer.write(piece));
    const expiresAtMs = Math.floor(exchange.atMs) + windowMs;
    return { kind: "requests", name: "", sent: writer.hash, expiresAtMs };
  });
}

async function listBatches(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  const query = urlOf(exchange.call).searchParams;
  const limit = limitIn(query, 20, 1000);
  const [after, before] = [query.get("after_id"), query.get("before_id")];
  const asked = { owner: ownerOf(call), prefix: messagesPrefix, limit: limit + 1, after, before };
  const page = await gateway.batches.store.batches.list(asked);
  if (page === null) {
    const field = after === null ? "before_id" : "after_id";
    throw invalidRequest(`\`${field}\` is not one of your message batches.`, field);
  }
  // Of a page before another, the first one is too many.
  const isBefore = after === null && before !== null;
  const data = (isBefore ? page.slice(-limit) : page.slice(0, limit)).map((each) => shown(exchange, each));
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return Response.json(
    { data, ...ends, has_more: page.length > limit },
    { headers: commonHeaders(exchange) },
  );
}

async function showBatch(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  return show(exchange, await find(call, idIn(exchange)));
}

/** One that has ended is shown as it is. */
async function cancelBatch(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  const { id, keyId, endedAtMs } = await find(call, idIn(exchange));
  if (endedAtMs === null) await gateway.batches.cancel(keyId, id, Math.floor(exchange.atMs));
  return show(exchange, await find(call, id));
}

async function deleteBatch(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  const { id, keyId, endedAtMs } = await find(call, idIn(exchange));
  if (endedAtMs === null) throw invalidRequest("This message batch has not ended. Cancel it first.");
  await gateway.batches.delete(keyId, id);
  return objectResponse(exchange, { id, type: "message_batch_deleted" });
}

async function showResults(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  const found = await find(call, idIn(exchange));
  if (found.endedAtMs === null) {
    throw invalidRequest("This message batch has not ended. Its results come when it has.");
  }
  return downloadResponse(call, resultLines(gateway, found, "all"), "application/x-jsonl");
}

function idIn(exchange: Exchange): string {
  return segmentOf(exchange, "message_batch_id");
}

/** Another key's, a deleted and an unknown one are answered alike. */
async function find(call: AdmittedCall, id: string): Promise<BatchRecord> {
  const isOne = id.startsWith(messagesPrefix);
  const found = isOne ? await call.gateway.batches.store.batches.find(ownerOf(call), id) : null;
  if (found !== null) return found;
  throw new GatewayError("not_found", `No message batch found with id '${id.slice(0, 200)}'.`);
}

function show(exchange: Exchange, found: BatchRecord): Response {
  return objectResponse(exchange, shown(exchange, found));
}

/** Clients fetch `results_url` with their key, so it is never another address than the one that they have reached. */
function shown(exchange: Exchange, found: BatchRecord): JsonObject & { readonly id: string } {
  const { id, status, endedAtMs, createdAtMs, expiresAtMs, cancellingAtMs } = found;
  const { request, route } = exchange.call;
  const url = `${originReachedAt(request)}${modeOrigins[route.mode]}${path}/${id}/results`;
  return {
    id,
    type: "message_batch",
    processing_status: endedAtMs !== null ? "ended" : status === "cancelling" ? "canceling" : "in_progress",
    request_counts: countsOf(found),
    created_at: moment(createdAtMs),
    expires_at: moment(expiresAtMs),
    ended_at: endedAtMs === null ? null : moment(endedAtMs),
    cancel_initiated_at: cancellingAtMs === null ? null : moment(cancellingAtMs),
    archived_at: null,
    results_url: endedAtMs === null ? null : url,
  };
}

function countsOf({ endedAtMs, total, completed, failed, rest, restCode }: BatchRecord): JsonObject {
  const hasEnded = endedAtMs !== null;
  const restAs = (code: BatchRecord["restCode"]) => (restCode === code ? rest : 0);
  return {
    processing: hasEnded ? 0 : total,
    succeeded: hasEnded ? completed : 0,
    errored: hasEnded ? failed - rest + restAs("insufficient_credit") : 0,
    canceled: hasEnded ? restAs("batch_cancelled") : 0,
    expired: hasEnded ? restAs("batch_expired") : 0,
  };
}

function moment(ms: number): string {
  return new Date(ms).toISOString();
}

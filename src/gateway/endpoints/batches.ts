import { type Static, Type } from "@sinclair/typebox";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { batchRequest } from "../../dialects/openai/batch-request.ts";
import type { BatchRecord, FileRecord } from "../../store/store.ts";
import { admit } from "../admission/admit.ts";
import { batchObject } from "../batches/batch-object.ts";
import { ownerOf } from "../batches/batch-owner.ts";
import { batchEndpoints, beginBatch, isOn, lineScanner } from "../batches/begin.ts";
import { createdBefore } from "../batches/retried-creation.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { urlOf } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { keptOperations, retriable, type ServedOperation } from "../exchange/served-operation.ts";
import { readRequest } from "../request/read-request.ts";
import { limitIn, listResponse, objectResponse } from "./files.ts";
import { segmentOf } from "./item-list.ts";

const operation = keptOperations("batches", "insufficient_credit", "limit_reached");

const path = "/v1/batches";
const one = `${path}/:batch_id`;

const time = Type.Union([Type.Integer(), Type.Null()]);
const text = Type.Union([Type.String(), Type.Null()]);

const batchSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal("batch"),
  endpoint: Type.String(),
  model: Type.Optional(Type.String({ description: "Only if all lines have one model." })),
  errors: Type.Union([
    Type.Object({
      object: Type.Literal("list"),
      data: Type.Array(Type.Object({ code: Type.String(), message: Type.String(), line: time, param: text })),
    }),
    Type.Null(),
  ]),
  input_file_id: Type.String(),
  completion_window: Type.Literal("24h"),
  status: Type.String({
    description: "validating, failed, in_progress, completed, expired, cancelling or cancelled.",
  }),
  output_file_id: text,
  error_file_id: text,
  created_at: Type.Integer(),
  in_progress_at: time,
  expires_at: Type.Integer(),
  finalizing_at: time,
  completed_at: time,
  failed_at: time,
  expired_at: time,
  cancelling_at: time,
  cancelled_at: time,
  request_counts: Type.Object({
    total: Type.Integer(),
    completed: Type.Integer(),
    failed: Type.Integer(),
  }),
  usage: Type.Object({
    input_tokens: Type.Integer(),
    input_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
    output_tokens: Type.Integer(),
    output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
    total_tokens: Type.Integer(),
  }),
  metadata: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()]),
  sluice: Type.Object({
    state: Type.String({ description: "running, waiting, paused or ended." }),
    reason: Type.Union([Type.String(), Type.Null()], { description: "What it waits for." }),
    estimate: Type.Union([Type.Number(), Type.Null()], {
      description: "What its lines would hold in all, in credits or tokens: more than they cost.",
    }),
    charged: Type.Number({ description: "What its lines were charged, in credits or tokens." }),
  }),
});
const batch = { response: "Batch", schemas: { Batch: batchSchema } };

export const batchOperations: readonly ServedOperation[] = [
  retriable(
    operation("POST", path, createBatch, {
      operationId: "createBatch",
      summary: "Create a batch from a file of requests",
      request: "BatchRequest",
      ...batch,
      schemas: { BatchRequest: batchRequest, ...batch.schemas },
    }),
  ),
  operation("GET", path, listBatches, {
    operationId: "listBatches",
    summary: "List batches, newest first",
    query: [
      { name: "limit", in: "query", schema: { type: "integer", minimum: 1, maximum: 100, default: 20 } },
      {
        name: "after",
        in: "query",
        description: "The id of the batch before the first one to be listed.",
        schema: { type: "string" },
      },
    ],
    response: "BatchList",
    schemas: {
      BatchList: Type.Object({
        object: Type.Literal("list"),
        data: Type.Array(batchSchema),
        first_id: text,
        last_id: text,
        has_more: Type.Boolean(),
      }),
    },
  }),
  operation("GET", one, showBatch, { operationId: "getBatch", summary: "Get a batch", ...batch }),
  operation("POST", `${one}/cancel`, cancelBatch, {
    operationId: "cancelBatch",
    summary: "Cancel a batch",
    ...batch,
  }),
];

const prefix = "batch_";

async function createBatch(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  const request = await readRequest(call, "batch");
  // Validated against it.
  const body = request.truncated as JsonObject & Static<typeof batchRequest>;
  const { endpoint, metadata = null, output_expires_after: expiry } = body;
  const outputMs = expiry == null ? null : expiry.seconds * 1000;
  if (!isOn(endpoint, call.configured.settings)) {
    const names = batchEndpoints.filter((each) => isOn(each, call.configured.settings));
    throw invalidRequest(`\`endpoint\` must be one of ${names.join(", ")}.`, "endpoint");
  }
  const before = await createdBefore(call, () => request.bodyHash);
  if (before !== null) return show(call, await find(call, before));
  const file = await inputOf(call, body.input_file_id);
  exchange.call.keepWaiting();
  const scannerFor = lineScanner.bind(null, call, endpoint);
  const id = await beginBatch(call, { prefix, endpoint, file, metadata, outputMs, scannerFor });
  return show(call, await find(call, id));
}

async function inputOf(call: AdmittedCall, id: string): Promise<FileRecord> {
  const { batches, clock } = call.gateway;
  const file = await batches.store.uploads.find(ownerOf(call), id);
  if (file?.kind === "batch" && file.expiresAtMs > clock.wallMs()) return file;
  throw invalidRequest(`There is no file ${id.slice(0, 200)} with the purpose "batch".`, "input_file_id");
}

async function listBatches(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  const query = urlOf(exchange.call).searchParams;
  const limit = limitIn(query, 20, 100);
  const asked = { owner: ownerOf(call), prefix, limit: limit + 1, after: query.get("after"), before: null };
  const page = await gateway.batches.store.batches.list(asked);
  if (page === null) throw invalidRequest("`after` is not one of your batches.", "after");
  return listResponse(
    exchange,
    page.map((each) => shown(call, each)),
    limit,
  );
}

async function showBatch(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  return show(call, await find(call, segmentOf(exchange, "batch_id")));
}

async function cancelBatch(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  const { id, keyId, status, endedAtMs } = await find(call, segmentOf(exchange, "batch_id"));
  if (endedAtMs !== null) throw invalidRequest(`This batch is ${status}, and cannot be cancelled.`);
  await gateway.batches.cancel(keyId, id, Math.floor(exchange.atMs));
  return show(call, await find(call, id));
}

/** Another key's, a deleted and an unknown one are answered alike. */
async function find(call: AdmittedCall, id: string): Promise<BatchRecord> {
  const { batches } = call.gateway.batches.store;
  const found = id.startsWith(prefix) ? await batches.find(ownerOf(call), id) : null;
  if (found !== null) return found;
  throw new GatewayError("not_found", `No batch found with id '${id.slice(0, 200)}'.`);
}

function show(call: AdmittedCall, found: BatchRecord): Response {
  return objectResponse(call.exchange, shown(call, found));
}

function shown({ gateway, key: { mode }, configured }: AdmittedCall, found: BatchRecord) {
  const key = configured.settings.responses.encryptionKey;
  return batchObject(found, { mode, key, storeProblem: gateway.storeProblem() });
}

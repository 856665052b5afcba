import { Type } from "@sinclair/typebox";
import { msPerDay } from "../../base/clock.ts";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { wholeFromDigits } from "../../base/text/typed-number.ts";
import { expiresAfter } from "../../dialects/openai/batch-request.ts";
import type { FileKind, FileQuery, FileRecord } from "../../store/store.ts";
import { admit } from "../admission/admit.ts";
import { ownerOf } from "../batches/batch-owner.ts";
import { downloadResponse } from "../batches/download.ts";
import { type InputFiles, InputReader } from "../batches/input-file.ts";
import { resultLines } from "../batches/results.ts";
import { openText, placeOfName } from "../batches/sealed-text.ts";
import { receiveUpload } from "../batches/upload.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { urlOf } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { keptOperations, retriable, type ServedOperation } from "../exchange/served-operation.ts";
import { boundaryOf } from "../metered/form/form-parser.ts";
import { commonHeaders } from "../response/headers.ts";
import { pacedResponse } from "../response/paced-response.ts";
import { segmentOf } from "./item-list.ts";

const operation = keptOperations("batches");
const paidOperation = keptOperations("batches", "insufficient_credit", "limit_reached");

const path = "/v1/files";
const one = `${path}/:file_id`;

const nullable = <Schema extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(
  schema: Schema,
) => Type.Union([schema, Type.Null()]);

const fileObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("file"),
  bytes: Type.Integer(),
  created_at: Type.Integer(),
  expires_at: nullable(Type.Integer()),
  filename: Type.String(),
  purpose: Type.Union([Type.Literal("batch"), Type.Literal("batch_output")]),
  status: Type.Literal("processed"),
});
const file = { response: "File", schemas: { File: fileObject } };

const uploadForm = Type.Object({
  purpose: Type.Literal("batch"),
  expires_after: Type.Optional(expiresAfter),
});

const listQuery: readonly JsonObject[] = [
  { name: "limit", in: "query", schema: { type: "integer", minimum: 1, maximum: 10_000, default: 10_000 } },
  { name: "order", in: "query", schema: { type: "string", enum: ["asc", "desc"], default: "desc" } },
  {
    name: "after",
    in: "query",
    description: "The id of the file before the first one to be listed.",
    schema: { type: "string" },
  },
  { name: "purpose", in: "query", schema: { type: "string", enum: ["batch", "batch_output"] } },
];

export const fileOperations: readonly ServedOperation[] = [
  retriable(
    paidOperation("POST", path, uploadFile, {
      operationId: "createFile",
      summary: "Upload the input of a batch",
      formFile: "file",
      request: "FileUpload",
      ...file,
      schemas: { FileUpload: uploadForm, ...file.schemas },
    }),
  ),
  operation("GET", path, listFiles, {
    operationId: "listFiles",
    summary: "List files",
    query: listQuery,
    response: "FileList",
    schemas: {
      FileList: Type.Object({
        object: Type.Literal("list"),
        data: Type.Array(fileObject),
        first_id: nullable(Type.String()),
        last_id: nullable(Type.String()),
        has_more: Type.Boolean(),
      }),
    },
  }),
  operation("GET", one, showFile, { operationId: "getFile", summary: "Get a file's description", ...file }),
  operation("DELETE", one, deleteFile, {
    operationId: "deleteFile",
    summary: "Delete a file",
    response: "DeletedFile",
    schemas: {
      DeletedFile: Type.Object({
        id: Type.String(),
        object: Type.Literal("file"),
        deleted: Type.Literal(true),
      }),
    },
  }),
  operation("GET", `${one}/content`, downloadFile, {
    operationId: "getFileContent",
    summary: "Download a file",
    response: "FileContent",
    responseType: "application/x-ndjson",
    schemas: { FileContent: Type.String() },
  }),
];

const day30 = 30 * msPerDay;

async function uploadFile(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  const boundary = boundaryOf(exchange.call.request.headers.get("content-type"));
  if (boundary === null) throw invalidRequest("Send a form (multipart/form-data) with `file` and `purpose`.");
  call.takeFormSlot();
  exchange.call.keepWaiting();
  const stored = await receiveUpload(call, inputFilesOf(call), boundary, (fields) => {
    if (fields["purpose"] !== "batch") throw invalidRequest('`purpose` must be "batch".', "purpose");
    return { expiresAtMs: Math.floor(exchange.atMs) + expiryIn(fields) };
  });
  const created = "file" in stored ? stored.file : await found(call, stored.before);
  return objectResponse(exchange, shown(call, created));
}

/** SDKs send an object in a form as `expires_after[seconds]`. */
function expiryIn(fields: Readonly<Record<string, string>>): number {
  const { "expires_after[anchor]": anchor, "expires_after[seconds]": text } = fields;
  if (anchor === undefined && text === undefined) return day30;
  const seconds = wholeFromDigits(text ?? "");
  if (anchor === "created_at" && seconds !== null && seconds >= 3600 && seconds <= 2_592_000) {
    return seconds * 1000;
  }
  throw invalidRequest(
    "`expires_after` must have the anchor `created_at`, and 3600 to 2592000 `seconds`.",
    "expires_after",
  );
}

async function listFiles(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const call = await admit(gateway, exchange);
  const query = urlOf(exchange.call).searchParams;
  const limit = limitIn(query, 10_000, 10_000);
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw invalidRequest("`order` must be asc or desc.", "order");
  const after = query.get("after");
  const owner = ownerOf(call);
  const afterNo = after === null ? null : await gateway.batches.store.uploads.placeOf(owner, after);
  if (after !== null && afterNo === null) throw invalidRequest("`after` is not one of your files.", "after");
  const pieces = listPieces(call, {
    owner,
    kinds: kindsOf(query.get("purpose")),
    limit,
    afterNo,
    isAscending: order === "asc",
    nowMs: Math.floor(gateway.clock.wallMs()),
  });
  const headers = { ...commonHeaders(exchange), "content-type": "application/json;charset=utf-8" };
  return pacedResponse(exchange, { pieces: () => pieces }, { headers });
}

/** Files that are read and written at once. */
const filesPerPiece = 100;

/** A list of files, of which there may be thousands. */
async function* listPieces(call: AdmittedCall, asked: FileQuery): AsyncGenerator<Uint8Array> {
  const { uploads } = call.gateway.batches.store;
  yield Buffer.from('{"object":"list","data":[');
  let { afterNo } = asked;
  let written = 0;
  let [firstId, lastId]: (string | null)[] = [null, null];
  for (;;) {
    await bodyPacer.wait();
    const limit = Math.min(filesPerPiece, asked.limit - written);
    const found = await uploads.list({ ...asked, afterNo, limit: limit + 1 });
    const page = found.slice(0, limit);
    const text = page.map((file) => JSON.stringify(shown(call, file))).join();
    if (page.length > 0) yield Buffer.from(written === 0 ? text : `,${text}`);
    written += page.length;
    firstId ??= page[0]?.id ?? null;
    lastId = page.at(-1)?.id ?? lastId;
    afterNo = page.at(-1)?.no ?? afterNo;
    const hasMore = found.length > limit;
    if (hasMore && written < asked.limit) continue;
    const ends = { first_id: firstId, last_id: lastId, has_more: hasMore };
    yield Buffer.from(`],${JSON.stringify(ends).slice(1)}`);
    return;
  }
}

/** `limit` of a list. */
export function limitIn(query: URLSearchParams, usual: number, max: number): number {
  const asked = query.get("limit");
  const limit = asked === null ? usual : wholeFromDigits(asked);
  if (limit !== null && limit >= 1 && limit <= max) return limit;
  throw invalidRequest(`\`limit\` must be a whole number from 1 to ${max}.`, "limit");
}

/** What was created by this request, or by an earlier one with its `Idempotency-Key`; or was asked for. */
export function objectResponse(exchange: Exchange, object: JsonObject): Response {
  const replayed = exchange.isReplay ? { "idempotent-replayed": "true" } : {};
  return Response.json(object, { headers: { ...commonHeaders(exchange), ...replayed } });
}

/** A page of a list, of which one item more than the limit was read. */
export function listResponse(
  exchange: Exchange,
  items: readonly (JsonObject & { readonly id: string })[],
  limit: number,
): Response {
  const data = items.slice(0, limit);
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  const list = { object: "list", data, ...ends, has_more: items.length > limit };
  return Response.json(list, { headers: commonHeaders(exchange) });
}

const purposes: Readonly<Record<string, readonly FileKind[]>> = {
  batch: ["batch"],
  batch_output: ["output", "errors"],
};

function kindsOf(purpose: string | null): readonly FileKind[] {
  return purpose === null ? Object.values(purposes).flat() : (purposes[purpose] ?? []);
}

async function showFile(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { call, file } = await asked(gateway, exchange);
  return objectResponse(exchange, shown(call, file));
}

async function deleteFile(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { id, keyId, kind, batchId } = (await asked(gateway, exchange)).file;
  const { batches } = gateway;
  const usedBy = await batches.store.uploads.usedBy(id);
  if (usedBy !== null) {
    throw invalidRequest(`This file is used by batch ${usedBy}. Cancel it, or wait until it ends.`);
  }
  if (batchId !== null && (kind === "output" || kind === "errors")) {
    await batches.deleteResults(batchId, kind);
  }
  if (!(await batches.store.uploads.delete(keyId, id))) throw notFound(id);
  return objectResponse(exchange, { id, object: "file", deleted: true });
}

async function downloadFile(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { call, file: asks } = await asked(gateway, exchange);
  const { batchId, kind } = asks;
  const isResult = batchId !== null && (kind === "output" || kind === "errors");
  const batch = isResult ? await gateway.batches.store.batches.find(ownerOf(call), batchId) : null;
  const pieces =
    isResult && batch !== null
      ? resultLines(gateway, batch, kind)
      : new InputReader(inputFilesOf(call), asks.id).pieces(asks);
  return downloadResponse(call, pieces, "application/x-ndjson");
}

/** What files of this key are stored and encrypted with. */
export function inputFilesOf({
  gateway,
  configured,
}: Pick<AdmittedCall, "gateway" | "configured">): InputFiles {
  return { records: gateway.batches.store.uploads, key: configured.settings.responses.encryptionKey };
}

async function asked(gateway: Gateway, exchange: Exchange) {
  const call = await admit(gateway, exchange);
  return { call, file: await found(call, segmentOf(exchange, "file_id")) };
}

/** Another key's, a deleted, an expired and an unknown one are answered alike. */
async function found(call: AdmittedCall, id: string): Promise<FileRecord> {
  const { batches, clock } = call.gateway;
  const file = await batches.store.uploads.find(ownerOf(call), id);
  if (file === null || file.kind === "requests" || file.expiresAtMs <= clock.wallMs()) throw notFound(id);
  return file;
}

function notFound(id: string): GatewayError {
  return new GatewayError("not_found", `No file found with id '${id.slice(0, 200)}'.`);
}

function shown(
  { configured }: Pick<AdmittedCall, "configured">,
  { id, bytes, createdAtMs, expiresAtMs, name, kind }: FileRecord,
) {
  return {
    id,
    object: "file",
    bytes,
    created_at: Math.floor(createdAtMs / 1000),
    expires_at: Math.floor(expiresAtMs / 1000),
    filename: openText(name, placeOfName(id), configured.settings.responses.encryptionKey),
    purpose: kind === "batch" ? "batch" : "batch_output",
    status: "processed",
  };
}

import { GatewayError } from "../../base/errors.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { onOneLine } from "../../dialects/json/json-bytes.ts";
import type { BatchRecord, LineResult, RestCode } from "../../store/store.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { openBody, openInParts } from "../turns/turn-body.ts";
import { nameOfResult } from "./line-origin.ts";
import { messageDialect } from "./message-dialect.ts";
import { openText, placeOfCustomId } from "./sealed-text.ts";

/** Rows that are read at once. Each has up to 64 KB of its response; what is longer is read part by part. */
const linesPerRead = 8;

type Kind = "output" | "errors" | "all";

/** The results of a batch as its client downloads them, in the order of its lines. */
export async function* resultLines(
  gateway: Gateway,
  batch: BatchRecord,
  kind: Kind,
): AsyncGenerator<Uint8Array> {
  const { batches } = gateway.batches.store;
  const { encryptionKey } = gateway.configured.settings.responses;
  for (let after = -1; ; ) {
    await bodyPacer.wait();
    const rows = await batches.results(batch.id, kind, after, linesPerRead);
    let short: Uint8Array[] = [];
    for (const row of rows) {
      const body = await bodyOf(gateway, batch, row);
      const { begin, end } = lineOf(batch, opened(batch, row, encryptionKey), body !== null);
      short.push(Buffer.from(begin));
      if (body instanceof Uint8Array) short.push(onOneLine(body));
      else if (body !== null) {
        yield Buffer.concat(short);
        short = [];
        for await (const part of body) yield onOneLine(part);
      }
      short.push(Buffer.from(end));
      after = row.no;
    }
    if (rows.length === 0) return;
    yield Buffer.concat(short);
  }
}

/** What a result that was not charged is encrypted as. */
export function nameOfError(batchId: string, no: number): string {
  return `${batchId} ${no} error`;
}

/** A long one in parts. */
async function bodyOf(
  { batches: { store }, configured }: Gateway,
  { id }: BatchRecord,
  { no, error, response }: LineResult,
): Promise<Uint8Array | AsyncIterable<Uint8Array> | null> {
  const { encryptionKey } = configured.settings.responses;
  if (error !== null) return openBody(nameOfError(id, no), error, encryptionKey);
  if (response === null) return null;
  const name = nameOfResult({ batchId: id, no });
  if (response.parts === 0) return openBody(name, response.body, encryptionKey);
  return openInParts(name, () => store.batches.inParts(response), encryptionKey);
}

type ShownResult = Pick<LineResult, "no" | "customId" | "status" | "requestId">;

/** How many bytes the line of a result has. */
export function lineLength(
  batch: Pick<BatchRecord, "id" | "restCode">,
  row: ShownResult,
  body: Uint8Array,
  key: Uint8Array | null,
): number {
  const { begin, end } = lineOf(batch, opened(batch, row, key), true);
  return Buffer.byteLength(begin) + body.length + Buffer.byteLength(end);
}

function opened<Row extends ShownResult>(
  { id }: Pick<BatchRecord, "id">,
  row: Row,
  key: Uint8Array | null,
): Row {
  return { ...row, customId: openText(row.customId, placeOfCustomId(id, row.no), key) };
}

/** What is before the body of a line, and after it. */
interface LineFrame {
  readonly begin: string;
  readonly end: string;
}

/** Every custom id has one line, whatever became of it. Without a body, its frame says why. */
function lineOf(batch: Pick<BatchRecord, "id" | "restCode">, row: ShownResult, hasBody: boolean): LineFrame {
  const line = batch.id.startsWith(messagesPrefix) ? messagesLine : openAiLine;
  return line(batch, row, hasBody);
}

export const messagesPrefix = "msgbatch_";

function openAiLine(
  { id, restCode }: Pick<BatchRecord, "id" | "restCode">,
  { no, customId, status, requestId }: ShownResult,
  hasBody: boolean,
): LineFrame {
  const begin = `{"id":"batch_req_${id.slice("batch_".length)}_${no}","custom_id":${JSON.stringify(customId)}`;
  if (status === null || !hasBody) {
    const error = status === null ? restErrors[restCode ?? "batch_expired"] : goneError;
    return { begin, end: `,"response":null,"error":${JSON.stringify(error)}}\n` };
  }
  const response = `,"response":{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":`;
  return { begin: begin + response, end: '},"error":null}\n' };
}

function messagesLine(
  { restCode }: Pick<BatchRecord, "restCode">,
  { customId, status, requestId }: ShownResult,
  hasBody: boolean,
): LineFrame {
  const begin = `{"custom_id":${JSON.stringify(customId)},"result":{"type":`;
  if (status === null && restCode !== "insufficient_credit") {
    const type = restCode === "batch_cancelled" ? "canceled" : "expired";
    return { begin, end: `"${type}"}}\n` };
  }
  if (status === null || !hasBody) {
    const error =
      status === null
        ? new GatewayError("insufficient_credit", restErrors.insufficient_credit.message)
        : new GatewayError("internal_error", goneError.message);
    const written = JSON.stringify(messageDialect.errorFormat.body(error, requestId ?? ""));
    return { begin, end: `"errored","error":${written}}}\n` };
  }
  const [type, field] = status === 200 ? ["succeeded", "message"] : ["errored", "error"];
  return { begin: `${begin}"${type}","${field}":`, end: "}}\n" };
}

const restErrors: Readonly<Record<RestCode, { readonly code: string; readonly message: string }>> = {
  batch_cancelled: {
    code: "batch_cancelled",
    message: "This request was not run, because the batch was cancelled.",
  },
  batch_expired: {
    code: "batch_expired",
    message: "This request was not run before the batch expired.",
  },
  insufficient_credit: {
    code: "insufficient_credit",
    message: "This request was not run, because there was not enough credit.",
  },
};

const goneError = { code: "server_error", message: "The result of this request cannot be read any more." };

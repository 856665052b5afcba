import { lengthOf } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { onOneLine } from "../../dialects/json/json-bytes.ts";
import type { BatchRecord, LineResult, RestCode } from "../../store/store.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { openBody } from "../turns/turn-body.ts";
import { nameOfResult } from "./line-origin.ts";
import { messageDialect } from "./message-dialect.ts";
import { openText, placeOfCustomId } from "./sealed-text.ts";

/** Rows that are read at once; long responses are read one by one. */
const linesPerRead = 20;

type Kind = "output" | "errors" | "all";

/** The results of a batch as its client downloads them, in the order of its lines. */
export async function* resultLines(
  gateway: Gateway,
  batch: BatchRecord,
  kind: Kind,
): AsyncGenerator<Uint8Array> {
  const { batches } = gateway.batches.store;
  const { encryptionKey } = gateway.configured.settings.responses;
  let rows = await batches.results(batch.id, kind, -1, linesPerRead);
  while (rows.length > 0) {
    // A client that reads fast must not keep the event loop from others.
    await bodyPacer.wait();
    for (const row of rows) {
      const body = await bodyOf(gateway, batch, row);
      yield Buffer.concat(lineOf(batch, opened(batch, row, encryptionKey), body));
    }
    rows = await batches.results(batch.id, kind, rows.at(-1)?.no ?? 0, linesPerRead);
  }
}

/** What a result that was not charged is encrypted as. */
export function nameOfError(batchId: string, no: number): string {
  return `${batchId} ${no} error`;
}

async function bodyOf(
  { batches: { store }, configured }: Gateway,
  { id }: BatchRecord,
  { no, error, response }: LineResult,
): Promise<Uint8Array | null> {
  const { encryptionKey } = configured.settings.responses;
  if (error !== null) return openBody(nameOfError(id, no), error, encryptionKey);
  const stored = response && (await store.batches.whole(response));
  return stored && openBody(nameOfResult({ batchId: id, no }), stored, encryptionKey);
}

type ShownResult = Pick<LineResult, "no" | "customId" | "status" | "requestId">;

/** How many bytes the line of a result has. */
export function lineLength(
  batch: Pick<BatchRecord, "id" | "restCode">,
  row: ShownResult,
  body: Uint8Array,
  key: Uint8Array | null,
): number {
  return lengthOf(lineOf(batch, opened(batch, row, key), body));
}

function opened<Row extends ShownResult>(
  { id }: Pick<BatchRecord, "id">,
  row: Row,
  key: Uint8Array | null,
): Row {
  return { ...row, customId: openText(row.customId, placeOfCustomId(id, row.no), key) };
}

/** Every custom id has one line, whatever became of it. */
function lineOf(
  batch: Pick<BatchRecord, "id" | "restCode">,
  row: ShownResult,
  body: Uint8Array | null,
): readonly Uint8Array[] {
  return batch.id.startsWith(messagesPrefix) ? messagesLine(batch, row, body) : openAiLine(batch, row, body);
}

export const messagesPrefix = "msgbatch_";

function openAiLine(
  { id, restCode }: Pick<BatchRecord, "id" | "restCode">,
  { no, customId, status, requestId }: ShownResult,
  body: Uint8Array | null,
): readonly Uint8Array[] {
  const begin = `{"id":"batch_req_${id.slice("batch_".length)}_${no}","custom_id":${JSON.stringify(customId)}`;
  if (status === null || body === null) {
    const error = status === null ? restErrors[restCode ?? "batch_expired"] : goneError;
    return [Buffer.from(`${begin},"response":null,"error":${JSON.stringify(error)}}\n`)];
  }
  const response = `${begin},"response":{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":`;
  return [Buffer.from(response), onOneLine(body), Buffer.from('},"error":null}\n')];
}

function messagesLine(
  { restCode }: Pick<BatchRecord, "restCode">,
  { customId, status, requestId }: ShownResult,
  body: Uint8Array | null,
): readonly Uint8Array[] {
  const begin = `{"custom_id":${JSON.stringify(customId)},"result":{"type":`;
  if (status === null && restCode !== "insufficient_credit") {
    const type = restCode === "batch_cancelled" ? "canceled" : "expired";
    return [Buffer.from(`${begin}"${type}"}}\n`)];
  }
  if (status === null || body === null) {
    const error =
      status === null
        ? new GatewayError("insufficient_credit", restErrors.insufficient_credit.message)
        : new GatewayError("internal_error", goneError.message);
    const written = JSON.stringify(messageDialect.errorFormat.body(error, requestId ?? ""));
    return [Buffer.from(`${begin}"errored","error":${written}}}\n`)];
  }
  const [type, field] = status === 200 ? ["succeeded", "message"] : ["errored", "error"];
  return [Buffer.from(`${begin}"${type}","${field}":`), onOneLine(body), Buffer.from("}}\n")];
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

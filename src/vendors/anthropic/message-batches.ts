import { asBuffer } from "../../base/bytes.ts";
import { type Json, type JsonObject, tryParse } from "../../base/json.ts";
import { openBrace } from "../../dialects/json/json-bytes.ts";
import { countOf, nonEmpty, objectOf, objectsOf, parseObject } from "../../dialects/json/json-fields.ts";
import { scanObject } from "../../dialects/json/json-spans.ts";
import { providerDialect } from "../../dialects/registry.ts";
import { readLines } from "../../wire/read-lines.ts";
import { sendOnce } from "../../wire/send-once.ts";
import type { Head, Receiver, Transfer } from "../../wire/transfer.ts";
import {
  BatchCallFailed,
  type BatchProgress,
  type ListedBatch,
  type ProviderBatches,
  type ProviderResult,
  type SentLine,
  type VendorBatches,
} from "../batches.ts";
import type { Credential } from "../credentials/credential.ts";
import type { ProviderSettings } from "../provider.ts";

const callTimeoutMs = 30_000;
/** Longer than a list of a hundred batches. */
const maxObjectBytes = 1024 * 1024;
/** Longer than any response. */
const lineLimits = { maxLineBytes: 72 * 1024 * 1024, idleMs: 60_000 };
const maxPages = 50;

interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** https://platform.claude.com/docs/en/api/creating-message-batches. Its batches have no metadata, only the ids of their requests. */
export const messageBatches: VendorBatches = { at: batchesOf, readResult: resultOf };

function batchesOf(settings: ProviderSettings, credential: Credential): ProviderBatches {
  const send = (use: ReturnType<Credential["use"]>, call: Call, receiver: Receiver) => {
    const url = new URL(`${settings.baseUrl}/v1/messages/batches${call.path}`);
    const headers = {
      ...providerDialect("messages").requestHeaders(call.headers ?? {}),
      "accept-encoding": "identity",
      "user-agent": "sluice",
      ...use.headers(),
      ...settings.headers,
    };
    const type = call.body === undefined ? {} : { "content-type": "application/json" };
    const { method, body = null } = call;
    return sendOnce(url, { method, headers: { ...headers, ...type }, body }, receiver);
  };
  const ready = async () => {
    const use = credential.use();
    await use.prepare();
    return use;
  };
  const object = async (call: Call, timeoutMs = callTimeoutMs) => {
    const use = await ready();
    return objectFrom((receiver) => send(use, call, receiver), timeoutMs);
  };
  return {
    kind: settings.kind,
    async create(lines, headers, timeoutMs) {
      const made = await object({ method: "POST", path: "", headers, body: bodyOf(lines) }, timeoutMs);
      return idOf(made);
    },
    progress: async (id) => progressOf(await object({ method: "GET", path: pathOf(id) })),
    async cancel(id) {
      await object({ method: "POST", path: `${pathOf(id)}/cancel`, body: Buffer.from("{}") });
    },
    async list(sinceMs) {
      const found: ListedBatch[] = [];
      let after = "";
      for (let pages = 0; pages < maxPages; pages += 1) {
        const page = await object({ method: "GET", path: `?limit=100${after}` });
        const listed = objectsOf(page["data"]).map(listedOf);
        found.push(...listed.filter(({ createdAtMs }) => createdAtMs >= sinceMs));
        const last = listed.at(-1);
        if (page["has_more"] !== true || last === undefined || last.createdAtMs < sinceMs) return found;
        after = `&after_id=${encodeURIComponent(last.id)}`;
      }
      return found;
    },
    async *results(id) {
      const use = await ready();
      const call = { method: "GET", path: `${pathOf(id)}/results` } as const;
      yield* readLines((receiver) => send(use, call, receiver), checkHead, lineLimits);
    },
  };
}

function pathOf(id: string): string {
  return `/${encodeURIComponent(id)}`;
}

function bodyOf(lines: readonly SentLine[]): Buffer {
  const pieces: Uint8Array[] = [];
  for (const { id, body } of lines) {
    const start = `${pieces.length === 0 ? '{"requests":[' : ","}{"custom_id":${JSON.stringify(id)},"params":`;
    pieces.push(Buffer.from(start), typeof body === "string" ? Buffer.from(body) : body, Buffer.from("}"));
  }
  return Buffer.concat([...pieces, Buffer.from("]}")]);
}

function checkHead({ status }: Head): void {
  if (status !== 200) throw new BatchCallFailed(`The provider responded with ${status}.`, status, false);
}

function objectFrom(send: (receiver: Receiver) => Transfer, timeoutMs: number): Promise<JsonObject> {
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    let [status, length] = [0, 0];
    const fail = (cause: unknown) => {
      clearTimeout(timer);
      reject(new BatchCallFailed("The provider did not respond.", null, !transfer.isConnected, cause));
    };
    const timer = setTimeout(() => {
      fail(null);
      transfer.cancel();
    }, timeoutMs);
    const transfer = send({
      connected() {},
      answered: (head) => {
        status = head.status;
      },
      received(bytes) {
        length += bytes.length;
        if (length <= maxObjectBytes) {
          pieces.push(bytes);
          return;
        }
        clearTimeout(timer);
        transfer.cancel();
        reject(new BatchCallFailed("The provider's response is too long.", status, false));
      },
      ended() {
        clearTimeout(timer);
        const body = parseObject(Buffer.concat(pieces).toString());
        if (status === 200 && body !== null) resolve(body);
        else reject(new BatchCallFailed(messageOf(body, status), status, false));
      },
      failed: fail,
    });
  });
}

/** For the log: the provider's own words may quote requests. */
function messageOf(body: JsonObject | null, status: number): string {
  const type = nonEmpty(objectOf(body?.["error"])?.["type"]);
  const reason = type !== null && Object.hasOwn(statuses, type) ? ` (${type})` : "";
  return `The provider responded with ${status}${reason}.`;
}

function idOf(body: JsonObject): string {
  const id = nonEmpty(body["id"]);
  if (id === null) throw new BatchCallFailed("The provider's batch has no id.", 200, false);
  return id;
}

function progressOf(body: JsonObject): BatchProgress {
  const counts = objectOf(body["request_counts"]) ?? {};
  const count = Object.keys(counts).reduce((sum, name) => sum + (countOf(counts[name]) ?? 0), 0);
  return { hasEnded: body["processing_status"] === "ended", count };
}

function listedOf(body: JsonObject): ListedBatch {
  return {
    id: idOf(body),
    createdAtMs: Date.parse(nonEmpty(body["created_at"]) ?? "") || 0,
    ...progressOf(body),
  };
}

/** The provider's bytes of a message are kept as they are. */
function resultOf(line: Uint8Array): ProviderResult | null {
  const parsed = objectOf(tryParse(asBuffer(line).toString()));
  const result = objectOf(parsed?.["result"]);
  const id = nonEmpty(parsed?.["custom_id"]);
  if (id === null || result === null) return null;
  switch (result["type"]) {
    case "succeeded":
      return { id, kind: "response", body: memberOf(memberOf(line, "result"), "message") };
    case "canceled":
      return { id, kind: "cancelled" };
    case "expired":
      return { id, kind: "expired" };
    default:
      return { id, kind: "error", ...errorOf(result["error"]) };
  }
}

function memberOf(bytes: Uint8Array, name: string): Uint8Array {
  const [member] = scanObject(bytes, bytes.indexOf(openBrace), [name]).members;
  return member === undefined ? new Uint8Array() : bytes.subarray(member.valueStart, member.end);
}

function errorOf(body: Json | undefined): { readonly status: number; readonly text: string } {
  const type = nonEmpty(objectOf(objectOf(body)?.["error"])?.["type"]) ?? "";
  const status = Object.hasOwn(statuses, type) ? statuses[type] : undefined;
  return { status: status ?? 500, text: JSON.stringify(body ?? {}) };
}

/** https://platform.claude.com/docs/en/api/errors: results have no status. */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

import { msPerDay } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import type { JsonObject } from "../../base/json.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { RouteSwitch } from "../../base/requests/route-switches.ts";
import type { Settings } from "../../config/settings.ts";
import type { FileRecord, NewLine } from "../../store/store.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { noMemory } from "../request/read-request.ts";
import { type BatchRequest, placeOfRequest } from "./batch-object.ts";
import { BatchEstimate } from "./estimate.ts";
import { InputReader, requireDiskSpace } from "./input-file.ts";
import { quotaError, rejectBeyondLimits } from "./limits.ts";
import { retryOf } from "./retried-creation.ts";
import { type InputScanner, type LineSink, scanInput } from "./scan-input.ts";
import { LineScanner, scanLineJob } from "./scan-lines.ts";
import { RequestScanner, scanRequestJob } from "./scan-requests.ts";
import { placeOfCustomId, sealText } from "./sealed-text.ts";

/** What lines can call, and the switch of each route that has one. */
const endpoints: Readonly<Record<string, RouteSwitch | null>> = {
  "/v1/chat/completions": null,
  "/v1/responses": null,
  "/v1/messages": null,
  "/v1/embeddings": "embeddings",
  "/v1/completions": "completions",
  "/v1/moderations": "moderations",
  "/v1/images/generations": "images",
  "/v1/rerank": "rerank",
};

export const batchEndpoints: readonly string[] = Object.keys(endpoints);

export function isOn(endpoint: string, { routes }: Pick<Settings, "routes">): boolean {
  const name = Object.hasOwn(endpoints, endpoint) ? endpoints[endpoint] : undefined;
  return name === null || (name !== undefined && routes[name]);
}

interface WantedBatch {
  readonly prefix: string;
  readonly endpoint: string;
  readonly file: FileRecord;
  readonly metadata: JsonObject | null;
  readonly outputMs: number | null;
  /** Finds its lines. */
  readonly scannerFor: (sink: LineSink) => InputScanner;
}

/** Finds its lines, and lets them run. Returns its id: nothing runs of one with a bad line, which has failed. */
export async function beginBatch(call: AdmittedCall, wanted: WantedBatch): Promise<string> {
  await rejectBeyondLimits(call);
  const { gateway, exchange, keyId } = call;
  const { store } = gateway.batches;
  const { batches: settings } = call.configured.settings;
  const { bytesPerKeyBytes: bytesPerKey, filesPerKey, maxOpenPerKey } = settings;
  const quota = { bytesPerKey, filesPerKey };
  const { encryptionKey: key } = call.configured.settings.responses;
  const createdAtMs = Math.floor(exchange.atMs);
  const id = newId(wanted.prefix);
  const request: BatchRequest = {
    headers: headersFor(call),
    address: exchange.call.address,
    metadata: wanted.metadata,
    outputMs: wanted.outputMs,
  };
  const sealed = (kept: BatchRequest) => sealText(JSON.stringify(kept), placeOfRequest(id), key);
  const { validating, node } = gateway.batches;
  validating.add(id);
  try {
    const problem = await store.batches.begin(
      {
        id,
        keyId,
        fileId: wanted.file.id,
        endpoint: wanted.endpoint,
        request: sealed(request),
        createdAtMs,
        expiresAtMs: createdAtMs + settings.windowMs,
      },
      { node, maxOpen: maxOpenPerKey, quota },
    );
    if (problem !== null) throw problem === "open" ? tooMany(maxOpenPerKey) : quotaError(problem, quota);
    const scanned = await gateway.batches.validations.run(keyId, () => scan(call, id, wanted, request));
    const { scanner, estimate } = scanned;
    const atMs = Math.floor(gateway.clock.wallMs());
    const retry = await retryOf(call, id);
    if (scanner.problems.length > 0) {
      const keptUntilMs = atMs + settings.resultDays * msPerDay;
      await gateway.batches.deleteLines(id);
      const failure = { errors: JSON.stringify(scanner.problems), atMs, keptUntilMs };
      await store.batches.fail(id, failure, retry);
    } else {
      const lines = {
        total: scanner.count,
        estimate: estimate.total,
        request: sealed({ ...request, model: estimate.model }),
      };
      await store.batches.start(id, lines, atMs, retry);
      gateway.batches.wake();
    }
    return id;
  } catch (error) {
    // Its client will not know of it. If this fails, it is deleted later.
    await gateway.batches.delete(keyId, id).catch(() => {});
    throw error;
  } finally {
    validating.delete(id);
  }
}

function tooMany(maxOpen: number): GatewayError {
  const message = `This key has ${maxOpen} unfinished batches, which is its limit. Wait for one to end, or cancel one.`;
  return new GatewayError("rate_limit_exceeded", message, { retryAfterSeconds: 30 });
}

/** For a file with a request on each line. */
export function lineScanner(call: AdmittedCall, endpoint: string, sink: LineSink): InputScanner {
  const { batches, server } = call.configured.settings;
  return new LineScanner({
    ...sink,
    endpoint,
    maxLines: batches.maxLines,
    maxLineBytes: server.maxBodyBytes + lineOverhead,
    scanLarge: (input) => call.gateway.largeBodies.runRequest(scanLineJob, input, call),
  });
}

/** Lines that are written at once, which takes a few milliseconds. */
const linesPerWrite = 200;

async function scan(
  call: AdmittedCall,
  id: string,
  { file, scannerFor, endpoint }: WantedBatch,
  request: BatchRequest,
): Promise<{ readonly scanner: InputScanner; readonly estimate: BatchEstimate }> {
  const { gateway, exchange, keyId } = call;
  const { store } = gateway.batches;
  const { batches: settings, responses } = call.configured.settings;
  const { encryptionKey: key } = responses;
  const { bytesPerKeyBytes: bytesPerKey, filesPerKey } = settings;
  const quota = { bytesPerKey, filesPerKey };
  const estimate = new BatchEstimate(call, endpoint, request);
  const found: NewLine[] = [];
  const write = async () => {
    await bodyPacer.wait();
    const lines = found.splice(0).map((line) => ({
      ...line,
      customId: sealText(line.customId, placeOfCustomId(id, line.no), key),
    }));
    requireDiskSpace(store.uploads);
    if (!(await store.batches.addLines(id, lines, bytesPerKey))) throw quotaError("bytes", quota);
  };
  const memory = gateway.bodies.reserve(keyId);
  const scanner = scannerFor({
    takeMemory(bytes) {
      if (!memory.grow(bytes)) throw noMemory();
    },
    async keep(line, body) {
      exchange.signal.throwIfAborted();
      found.push(await estimate.add(line, body));
      if (found.length === linesPerWrite) await write();
    },
  });
  try {
    await scanInput(new InputReader({ records: store.uploads, key }, file.id).pieces(file), scanner);
  } finally {
    memory.release();
  }
  if (found.length > 0 && scanner.problems.length === 0) await write();
  return { scanner, estimate };
}

/** For the body of a message batch. */
export function requestScanner(call: AdmittedCall, sink: LineSink): InputScanner {
  const { batches, server } = call.configured.settings;
  return new RequestScanner({
    ...sink,
    maxRequests: batches.maxLines,
    maxRequestBytes: server.maxBodyBytes + lineOverhead,
    scanLarge: (bytes) => call.gateway.largeBodies.runRequest(scanRequestJob, bytes, call),
  });
}

/** The most that a line has in addition to its body. */
const lineOverhead = 16 * 1024;

/** Headers that mean something to the gateway or a provider. Others may be secret. */
const keptHeaders = /^(?:openai|anthropic|x-sluice)-/;

function headersFor({ exchange, configured }: AdmittedCall): BatchRequest["headers"] {
  const { userHeaders } = configured.settings.server;
  const isKept = (name: string) => keptHeaders.test(name) || userHeaders.includes(name);
  return [...exchange.call.request.headers].filter(([name]) => isKept(name));
}

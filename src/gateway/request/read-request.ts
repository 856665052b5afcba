import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { removeValues, type ValuePath } from "../../dialects/json/remove-values.ts";
import { itemsFieldOf, type RequestKind, truncateBody } from "../../dialects/schema/validate.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";
import type { KeyRecord } from "../../store/store.ts";
import { hasManyValues, largeBodyBytes } from "../body-worker/is-large.ts";
import type { ReadResult } from "../body-worker/jobs.ts";
import { joinPieces, lengthOf } from "../body-worker/join-shared.ts";
import { beginContent } from "../content.ts";
import { continued } from "../conversations/continue.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { type BodyLimit, readBody } from "./read-body.ts";
import { ClientRequest, checkRequest, type Expected, expectedOf, parseTruncated } from "./request.ts";

/** Reads and validates a body. Its memory counts against the budget meanwhile. */
export async function readRequest(
  gateway: Gateway,
  exchange: Exchange,
  key: KeyRecord,
  kind: RequestKind,
): Promise<ClientRequest> {
  const { call } = exchange;
  const reservation = gateway.bodies.reserve(key.id);
  try {
    const { server } = exchange.configured.settings;
    const limit = new ClientBodyLimit(server.maxBodyBytes, reservation);
    if (call.body !== undefined) limit.takeWhole(call.body.length);
    const bytes =
      call.body ??
      (await gateway.ongoing.untilInterrupted(exchange, readBody(call.request, limit, exchange)));
    beginContent(gateway, exchange, key, bytes);
    const expected = expectedOf(call, kind, server);
    const parsing = parseRequest(gateway, exchange, bytes, expected);
    const request = parsing instanceof Promise ? await parsing : parsing;
    if (!canContinue(kind)) return request;
    const whole = await continued(gateway, exchange, key, request, kind, (more) => limit.take(more));
    if (whole === null) return request;
    limit.takeWhole(lengthOf(whole.pieces));
    const joined = await joinPieces(whole.pieces);
    const asked = { ...expected, kind: whole.kind };
    return (await parseRequest(gateway, exchange, joined, asked)).sentAs(request);
  } finally {
    reservation.release();
  }
}

/** Whether such a request may continue a response. */
function canContinue(kind: RequestKind): boolean {
  return itemsFieldOf(kind) === "input";
}

function parseRequest(
  gateway: Gateway,
  exchange: Exchange,
  bytes: Uint8Array,
  expected: Expected,
): ClientRequest | Promise<ClientRequest> {
  exchange.rememberBody(bytes);
  if (bytes.length >= largeBodyBytes) return readLarge(gateway, exchange, bytes, expected);
  const scanned = truncateBody(bytes);
  if (hasManyValues(bytes, scanned)) return readLarge(gateway, exchange, bytes, expected);
  return new ClientRequest(bytes, checkRequest(bytes, expected, scanned));
}

/** The same on another thread. A shutdown waits for it like for any other work. */
async function readLarge(
  { largeBodies, ongoing }: Gateway,
  exchange: Exchange,
  bytes: Uint8Array,
  expected: Expected,
): Promise<ClientRequest> {
  const wantsHash = exchange.call.request.headers.has("idempotency-key");
  const job = { type: "read", bytes, expected, wantsHash } as const;
  const run = () => largeBodies.runRequest(job, exchange);
  return largeRequest(await ongoing.withoutPlace(exchange, run));
}

function largeRequest(found: ReadResult): ClientRequest {
  const { bytes, spans, mentions, tools } = found;
  const checked = { truncated: parseTruncated(found), cutBytes: 0, memberCount: 0, spans, mentions, tools };
  return new ClientRequest(bytes, checked, found);
}

/** The request without some of its values; all other bytes are the client's. */
export async function withoutValues(
  { largeBodies }: Gateway,
  exchange: Exchange,
  { bytes, large }: ClientRequest,
  kind: RequestKind,
  without: readonly ValuePath[],
): Promise<ClientRequest> {
  const expected = expectedOf(exchange.call, kind, exchange.configured.settings.server);
  if (large !== null) {
    const job = { type: "read", bytes, expected, wantsHash: false, without } as const;
    return largeRequest(await largeBodies.runRequest(job, exchange));
  }
  const shorter = removeValues(bytes, without);
  return new ClientRequest(shorter, checkRequest(shorter, expected));
}

/** The request with another body, which follows from its own. */
export function rewritten(exchange: Exchange, body: JsonObject, kind: RequestKind): ClientRequest {
  const bytes = Buffer.from(JSON.stringify(body));
  const expected = expectedOf(exchange.call, kind, exchange.configured.settings.server);
  return new ClientRequest(bytes, checkRequest(bytes, expected));
}

class ClientBodyLimit implements BodyLimit {
  readonly maxBytes: number;
  readonly #reservation: BodyReservation;
  #taken = 0;

  constructor(maxBytes: number, reservation: BodyReservation) {
    this.maxBytes = maxBytes;
    this.#reservation = reservation;
  }

  tooLarge(): Error {
    return invalidRequest(`The request body is too large; at most ${this.maxBytes} bytes are accepted.`);
  }

  /** For a body that has become longer, perhaps by what was taken meanwhile. */
  takeWhole(bytes: number): void {
    if (bytes > this.maxBytes) throw this.tooLarge();
    this.take(Math.max(0, bytes - this.#taken));
  }

  take(bytes: number): void {
    if (!this.#reservation.grow(bytes)) throw noMemory();
    this.#taken += bytes;
  }
}

export function noMemory(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "The gateway is reading as many large requests as its memory allows; try again shortly.",
  );
}

import { lengthOf } from "../../base/bytes.ts";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { removeValues, type ValuePath } from "../../dialects/json/remove-values.ts";
import { itemsFieldOf, type RequestKind, truncateBody } from "../../dialects/schema/validate.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";
import { hasManyValues, largeBodyBytes } from "../body-worker/is-large.ts";
import { joinPieces } from "../body-worker/join-shared.ts";
import type { ClientCall } from "../client-call.ts";
import { beginContent } from "../content.ts";
import { continued } from "../conversations/continue.ts";
import type { Exchange } from "../exchange.ts";
import { type AdmittedCall, noTurn, type ReadRequest, type RoutedCall } from "../stages.ts";
import { type CheckedBody, checkBody, type ExpectedRequest, LargeBody, readJob } from "./checked-body.ts";
import { type BodyLimit, readBody } from "./read-body.ts";
import { ClientRequest, expectedOf } from "./request.ts";

/** Reads and validates a body. Its memory counts against the budget meanwhile. */
export async function readRequest(admitted: AdmittedCall, kind: RequestKind): Promise<ReadRequest> {
  const { gateway, exchange, key } = admitted;
  const { server } = exchange.configured.settings;
  const reservation = gateway.bodies.reserve(key.id);
  try {
    const limit = new ClientBodyLimit(server.maxBodyBytes, reservation);
    const bytes = await receiveBody(admitted, limit);
    beginContent(admitted, bytes);
    const expected = expectedOf(exchange.call, kind, server);
    const request = await parseRequest(admitted, bytes, expected);
    if (!canContinue(kind)) return { request, turn: noTurn, replay: null };
    return await withConversation(admitted, request, expected, limit);
  } finally {
    reservation.release();
  }
}

/** Puts the conversation that it continues into the request. */
async function withConversation(
  admitted: AdmittedCall,
  request: ClientRequest,
  expected: ExpectedRequest,
  limit: ClientBodyLimit,
): Promise<ReadRequest> {
  const reserve = (more: number) => limit.take(more);
  const { body, turn, replay } = await continued(admitted, request, expected.kind, reserve);
  if (body === null) return { request, turn, replay };
  limit.takeWhole(lengthOf(body.pieces));
  const joined = await joinPieces(body.pieces);
  const rebuilt = await parseRequest(admitted, joined, { ...expected, kind: body.kind });
  const isCompared = wantsHash(admitted.exchange.call);
  return { request: isCompared ? rebuilt.sentAs(request) : rebuilt, turn, replay };
}

async function receiveBody({ gateway, exchange }: AdmittedCall, limit: ClientBodyLimit): Promise<Uint8Array> {
  const { body, request } = exchange.call;
  if (body === undefined)
    return gateway.ongoing.untilInterrupted(exchange, readBody(request, limit, exchange));
  limit.takeWhole(body.length);
  return body;
}

/** Whether such a request may continue a response. */
function canContinue(kind: RequestKind): boolean {
  return itemsFieldOf(kind) === "input";
}

async function parseRequest(
  admitted: AdmittedCall,
  bytes: Uint8Array,
  expected: ExpectedRequest,
): Promise<ClientRequest> {
  admitted.exchange.rememberBody(bytes);
  return new ClientRequest(await check(admitted, bytes, expected));
}

/** On another thread if it takes long. A shutdown waits for that like for any other work. */
async function check(
  admitted: AdmittedCall,
  bytes: Uint8Array,
  expected: ExpectedRequest,
): Promise<CheckedBody> {
  if (bytes.length < largeBodyBytes) {
    const scanned = truncateBody(bytes);
    if (!hasManyValues(bytes, scanned)) return checkBody(bytes, expected, scanned);
  }
  const { gateway, exchange } = admitted;
  const input = { bytes, expected, wantsHash: wantsHash(exchange.call), without: [] };
  const run = () => gateway.largeBodies.runRequest(readJob, input, admitted);
  return new LargeBody(await gateway.ongoing.withoutSlot(exchange, run), expected.kind);
}

/** Only idempotency compares requests by their hash. */
function wantsHash({ request }: ClientCall): boolean {
  return request.headers.has("idempotency-key");
}

/** The request without these values; all other bytes are the client's. */
export async function withoutValues(
  routed: RoutedCall,
  without: readonly ValuePath[],
): Promise<ClientRequest> {
  const { gateway, exchange, dialect, request } = routed;
  if (without.length === 0) return request;
  const { bytes, isLarge } = request;
  const expected = expectedOf(exchange.call, dialect, exchange.configured.settings.server);
  if (!isLarge) return new ClientRequest(checkBody(removeValues(bytes, without), expected));
  const input = { bytes, expected, wantsHash: false, without };
  const read = await gateway.largeBodies.runRequest(readJob, input, routed);
  return new ClientRequest(new LargeBody(read, expected.kind));
}

/** The request with another body, which follows from its own. */
export function rewritten(exchange: Exchange, body: JsonObject, kind: RequestKind): ClientRequest {
  const bytes = Buffer.from(JSON.stringify(body));
  const expected = expectedOf(exchange.call, kind, exchange.configured.settings.server);
  return new ClientRequest(checkBody(bytes, expected));
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

  /** Reserves memory for a body that has grown, in addition to what is already reserved. Throws if it is too large. */
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

import { Type } from "@sinclair/typebox";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { isConversationId } from "../../base/id.ts";
import type { JsonObject } from "../../base/json.ts";
import { wholeFromDigits } from "../../base/text/typed-number.ts";
import {
  backgroundStatus,
  cancelledHead,
  failedHead,
  inProgress,
} from "../../dialects/openai-responses/client/background.ts";
import { responsesResponse } from "../../dialects/openai-responses/client/schema.ts";
import { responsePieces, type TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import { admit } from "../admission/admit.ts";
import { interrupted } from "../background/background-run.ts";
import { eventsResponse } from "../background/event-stream.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { urlOf } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { keptOperations, type ServedOperation } from "../exchange/served-operation.ts";
import { commonHeaders } from "../response/headers.ts";
import { keepsResponses } from "../turns/storage-settings.ts";
import type { Turn } from "../turns/turn-body.ts";
import type { TurnReader } from "../turns/turns.ts";
import { itemList, listPage, listQuery, respondWith, segmentOf } from "./item-list.ts";

const operation = keptOperations("stored_responses");

const path = "/v1/responses/:response_id";
const response = { response: "ResponsesResponse", schemas: { ResponsesResponse: responsesResponse } };
const deleted = Type.Object({
  id: Type.String(),
  object: Type.Literal("response"),
  deleted: Type.Literal(true),
});

const eventsQuery: readonly JsonObject[] = [
  { name: "stream", in: "query", schema: { type: "boolean", default: false } },
  {
    name: "starting_after",
    in: "query",
    description: "The sequence number of the event before the first one to be streamed.",
    schema: { type: "integer", minimum: 0 },
  },
];

export const storedResponseOperations: readonly ServedOperation[] = [
  operation("GET", path, showResponse, {
    operationId: "getResponse",
    summary: "Get a stored response, or the events of one in the background",
    query: eventsQuery,
    ...response,
  }),
  operation("DELETE", path, deleteResponse, {
    operationId: "deleteResponse",
    summary: "Delete a stored response",
    response: "DeletedResponse",
    schemas: { DeletedResponse: deleted },
  }),
  operation("GET", `${path}/input_items`, listInputItems, {
    operationId: "listInputItems",
    summary: "List the input items of a stored response",
    query: listQuery,
    response: "InputItemList",
    schemas: { InputItemList: itemList },
  }),
  operation("POST", `${path}/cancel`, cancelResponse, {
    operationId: "cancelResponse",
    summary: "Cancel a background response",
    ...response,
  }),
];

async function showResponse(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const named = await admitted(gateway, exchange);
  const query = urlOf(exchange.call).searchParams;
  const from = firstEvent(query);
  const turn = await find(named);
  return query.get("stream") === "true" ? showEvents(named, from) : show(named, await asItIs(named, turn));
}

async function showEvents({ call, keyId, id }: ResponseCall, from: number): Promise<Response> {
  const found = await call.gateway.backgrounds.store.background.find(keyId, id);
  if (found?.isStreamed === true) return eventsResponse(call, id, from);
  const message =
    "This response has no stored events. Events are stored for an hour if `background` and `stream` are true.";
  throw invalidRequest(message, "stream");
}

/** The position of the first requested event. */
function firstEvent(query: URLSearchParams): number {
  const after = query.get("starting_after");
  if (after === null) return 0;
  const place = wholeFromDigits(after);
  if (place === null) throw invalidRequest("`starting_after` must be a sequence number.", "starting_after");
  return place + 1;
}

async function deleteResponse(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const named = await admitted(gateway, exchange);
  const { keyId, id } = named;
  const { backgrounds, clock } = gateway;
  if (isOpen(await find(named)) && !(await backgrounds.cancel(keyId, id))) {
    throw new GatewayError("service_unavailable", "The response is being cancelled. Retry in a few seconds.");
  }
  if (!(await backgrounds.delete(keyId, id, Math.floor(clock.wallMs())))) throw notFound(id);
  return Response.json({ id, object: "response", deleted: true }, { headers: commonHeaders(exchange) });
}

/** Cancels a response. One that has ended is returned unchanged. */
async function cancelResponse(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const named = await admitted(gateway, exchange);
  const turn = await find(named);
  if (backgroundStatus(turn.head) === null) {
    throw invalidRequest(
      "Only a background response can be cancelled. This one was created without `background: true`.",
    );
  }
  if (!isOpen(turn)) return show(named, turn);
  const hasEnded = await gateway.backgrounds.cancel(named.keyId, named.id);
  const current = await asItIs(named, await find(named));
  return show(named, hasEnded ? current : { ...current, head: cancelledHead(current.head, null) });
}

function show({ call }: ResponseCall, { head, output, parentId }: Turn): Response {
  return respondWith(call.exchange, responsePieces(head, output, parentId));
}

function isOpen({ head }: Turn): boolean {
  return backgroundStatus(head)?.isOpen === true;
}

/** The current state of a running response, whose stored form is only `queued`. */
async function asItIs(named: ResponseCall, turn: Turn): Promise<Turn> {
  if (!isOpen(turn)) return turn;
  const found = await named.call.gateway.backgrounds.store.background.find(named.keyId, named.id);
  if (found?.state === "queued") return turn;
  if (found?.state === "in_progress") return { ...turn, head: inProgress(turn.head) };
  const ended = await find(named);
  // Nothing runs it any more if it was copied or restored without its process.
  return isOpen(ended) ? { ...ended, head: failedHead(ended.head, interrupted(), null) } : ended;
}

/** The complete input of the model, which is the conversation without the response's own output. */
async function listInputItems(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const named = await admitted(gateway, exchange);
  const response = await find(named);
  const before = await gateway.turns.before(named, response);
  // What it continues may be gone.
  const earlier = (before ?? []).flatMap(({ input, output }) => [...input, ...output]);
  return listPage(named.call, [...earlier, ...response.input].filter(isListed));
}

/** A call for a stored response, with everything needed to read it. */
interface ResponseCall extends TurnReader {
  readonly call: AdmittedCall;
  readonly id: string;
}

async function admitted(gateway: Gateway, exchange: Exchange): Promise<ResponseCall> {
  const call = await admit(gateway, exchange);
  const { settings } = exchange.configured;
  const id = segmentOf(exchange, "response_id");
  if (isConversationId(id) || !keepsResponses(settings)) throw notFound(id);
  return { call, id, keyId: call.keyId, settings, reserve: (bytes) => call.awaitStored(bytes) };
}

/** Another key's, a deleted, an expired and an unknown one are looked up in the same way, and answered alike. */
async function find(named: ResponseCall): Promise<Turn> {
  const { id } = named;
  const turn = await named.call.gateway.turns.find(named, id);
  if (turn === null) throw notFound(id);
  return turn;
}

function notFound(id: string): GatewayError {
  return new GatewayError("not_found", `Response with id '${id.slice(0, 200)}' not found.`);
}

function isListed({ type }: TurnItem): boolean {
  return type !== "reasoning";
}

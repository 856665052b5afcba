import { Type } from "@sinclair/typebox";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { isConversationId } from "../../base/id.ts";
import { responsesResponse } from "../../dialects/openai-responses/client/schema.ts";
import { responsePieces, type TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import { admit } from "../admission/admit.ts";
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

export const storedResponseOperations: readonly ServedOperation[] = [
  operation("GET", path, showResponse, {
    operationId: "getResponse",
    summary: "Get a stored response",
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
    summary: "List the conversation that a stored response answers",
    query: listQuery,
    response: "InputItemList",
    schemas: { InputItemList: itemList },
  }),
  operation("POST", `${path}/cancel`, cancelResponse, {
    operationId: "cancelResponse",
    summary: "Cancel a response in the background; there are none",
    ...response,
  }),
];

async function showResponse(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { head, output, parentId } = await find(await admitted(gateway, exchange));
  if (urlOf(exchange.call).searchParams.get("stream") === "true") {
    throw invalidRequest("Only a response in the background can be streamed again.", "stream");
  }
  return respondWith(exchange, responsePieces(head, output, parentId));
}

async function deleteResponse(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { keyId, id } = await admitted(gateway, exchange);
  if (!(await gateway.turns.delete(keyId, id))) throw notFound(id);
  return Response.json({ id, object: "response", deleted: true }, { headers: commonHeaders(exchange) });
}

async function cancelResponse(gateway: Gateway, exchange: Exchange): Promise<Response> {
  await find(await admitted(gateway, exchange));
  throw invalidRequest("Only a response in the background can be cancelled, and this one has ended.");
}

/** All that the model was given, which is the conversation without the response's own output. */
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
  return { call, id, keyId: call.keyId, settings, reserve: (bytes) => call.awaitMemory(bytes) };
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

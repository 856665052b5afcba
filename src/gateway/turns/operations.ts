import { Type } from "@sinclair/typebox";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { responsesResponse } from "../../dialects/openai-responses/client/schema.ts";
import { joinResponse, type TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import { admit } from "../admission/admit.ts";
import { jsonHeaders } from "../answer/answering.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { commonHeaders } from "../headers.ts";
import { reserveBody } from "../request/read-request.ts";
import { freeOfCharge, rateHeaders, readingCodes, type ServedOperation } from "../served-operation.ts";
import { itemList, listedPage, listQuery, queryOf, segmentOf } from "./item-list.ts";
import type { Turn } from "./turn-body.ts";
import { keepsResponses } from "./turns.ts";

const stored = {
  errors: "openai",
  acceptsApiKeyHeader: false,
  ...freeOfCharge,
  needsKey: true,
  switchedBy: "stored_responses",
  codes: [...readingCodes, "key_expired", "key_disabled", "invalid_request", "not_found"],
  headers: rateHeaders,
} as const;

const path = "/v1/responses/:response_id";

const showResponseOperation: ServedOperation = {
  ...stored,
  method: "GET",
  path,
  description: {
    operationId: "getResponse",
    summary: "Get a stored response",
    response: "ResponsesResponse",
    schemas: { ResponsesResponse: responsesResponse },
  },
  run: showResponse,
};

const deleteResponseOperation: ServedOperation = {
  ...stored,
  method: "DELETE",
  path,
  description: {
    operationId: "deleteResponse",
    summary: "Delete a stored response",
    response: "DeletedResponse",
    schemas: {
      DeletedResponse: Type.Object({
        id: Type.String(),
        object: Type.Literal("response"),
        deleted: Type.Literal(true),
      }),
    },
  },
  run: deleteResponse,
};

const listInputItemsOperation: ServedOperation = {
  ...stored,
  method: "GET",
  path: `${path}/input_items`,
  description: {
    operationId: "listInputItems",
    summary: "List the conversation that a stored response answers",
    query: listQuery,
    response: "InputItemList",
    schemas: { InputItemList: itemList },
  },
  run: listInputItems,
};

const cancelResponseOperation: ServedOperation = {
  ...stored,
  method: "POST",
  path: `${path}/cancel`,
  description: {
    operationId: "cancelResponse",
    summary: "Cancel a response in the background; there are none",
    response: "ResponsesResponse",
    schemas: { ResponsesResponse: responsesResponse },
  },
  run: cancelResponse,
};

export const storedResponseOperations: readonly ServedOperation[] = [
  showResponseOperation,
  deleteResponseOperation,
  listInputItemsOperation,
  cancelResponseOperation,
];

async function showResponse(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { turn } = await find(gateway, exchange);
  if (queryOf(exchange).get("stream") === "true") {
    throw invalidRequest("Only a response in the background can be streamed again.", "stream");
  }
  const headers = { ...commonHeaders(exchange), ...jsonHeaders };
  return new Response(joinResponse(turn.head, turn.output), { headers });
}

async function deleteResponse(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { keyId, turn } = await find(gateway, exchange);
  if (!(await gateway.turns.delete(keyId, turn.id))) throw notFound(turn.id);
  const deleted = { id: turn.id, object: "response", deleted: true };
  return Response.json(deleted, { headers: commonHeaders(exchange) });
}

async function cancelResponse(gateway: Gateway, exchange: Exchange): Promise<Response> {
  await find(gateway, exchange);
  throw invalidRequest("Only a response in the background can be cancelled, and this one has ended.");
}

/** All that the model was given, which is the conversation without the response's own output. */
async function listInputItems(gateway: Gateway, exchange: Exchange): Promise<Response> {
  const { keyId, turn } = await find(gateway, exchange);
  const { settings } = exchange.configured;
  using reservation = gateway.bodies.reserve(keyId);
  const reserve = (bytes: number) => reserveBody(reservation, bytes);
  // What it continues may be gone.
  const chain = (await gateway.turns.chain(keyId, turn.id, settings, reserve)) ?? [turn];
  const given = chain.flatMap((each) => (each.id === turn.id ? each.input : [...each.input, ...each.output]));
  const list = listedPage(given.filter(isListed), queryOf(exchange));
  return Response.json(list, { headers: commonHeaders(exchange) });
}

/** Another key's, a deleted, an expired and an unknown one are looked up in the same way, and answered alike. */
async function find(gateway: Gateway, exchange: Exchange): Promise<{ keyId: string; turn: Turn }> {
  const { id: keyId } = await admit(gateway, exchange);
  const { settings } = exchange.configured;
  const id = segmentOf(exchange, "response_id");
  const turn = keepsResponses(settings) ? await gateway.turns.find(keyId, id, settings) : null;
  if (turn === null) throw notFound(id);
  return { keyId, turn };
}

function notFound(id: string): GatewayError {
  return new GatewayError("not_found", `Response with id '${id.slice(0, 200)}' not found.`);
}

function isListed({ type }: TurnItem): boolean {
  return type !== "reasoning";
}

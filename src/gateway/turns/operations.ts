import { Type } from "@sinclair/typebox";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { responsesResponse } from "../../dialects/openai-responses/client/schema.ts";
import { shownItem } from "../../dialects/openai-responses/client/shown-item.ts";
import { joinResponse, type TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import { admit } from "../admission/admit.ts";
import { jsonHeaders } from "../answer/answering.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { commonHeaders } from "../headers.ts";
import { freeOfCharge, rateHeaders, readingCodes, type ServedOperation } from "../served-operation.ts";
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

const defaultLimit = 20;
const mostListed = 100;

const listInputItemsOperation: ServedOperation = {
  ...stored,
  method: "GET",
  path: `${path}/input_items`,
  description: {
    operationId: "listInputItems",
    summary: "List the conversation that a stored response answers",
    query: [
      {
        name: "limit",
        in: "query",
        schema: { type: "integer", minimum: 1, maximum: mostListed, default: defaultLimit },
      },
      { name: "order", in: "query", schema: { type: "string", enum: ["asc", "desc"], default: "desc" } },
      {
        name: "after",
        in: "query",
        description: "The id of the item before the first one to be listed.",
        schema: { type: "string" },
      },
    ],
    response: "InputItemList",
    schemas: {
      InputItemList: Type.Object({
        object: Type.Literal("list"),
        data: Type.Array(Type.Object({})),
        first_id: Type.Union([Type.String(), Type.Null()]),
        last_id: Type.Union([Type.String(), Type.Null()]),
        has_more: Type.Boolean(),
      }),
    },
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
  const { limit, isAscending, after } = listing(queryOf(exchange));
  // What it continues may be gone.
  const chain = (await gateway.turns.chain(keyId, turn.id, exchange.configured.settings)) ?? [turn];
  const given = chain.flatMap((each) => (each.id === turn.id ? each.input : [...each.input, ...each.output]));
  // By their ids, because a page begins after one: some servers give all their items the same.
  const shown = [...new Map(given.filter(isListed).map((item) => [item.id, item])).values()];
  const ordered = isAscending ? shown : shown.toReversed();
  const start = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) throw invalidRequest("`after` names no item of this response.", "after");
  const page = ordered.slice(start, start + limit);
  const list = {
    object: "list",
    data: page.map(shownItem),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + limit < ordered.length,
  };
  return Response.json(list, { headers: commonHeaders(exchange) });
}

/** Another key's, a deleted, an expired and an unknown one are looked up in the same way, and answered alike. */
async function find(gateway: Gateway, exchange: Exchange): Promise<{ keyId: string; turn: Turn }> {
  const { id: keyId } = await admit(gateway, exchange);
  const { settings } = exchange.configured;
  const id = idIn(exchange);
  const turn = keepsResponses(settings) ? await gateway.turns.find(keyId, id, settings) : null;
  if (turn === null) throw notFound(id);
  return { keyId, turn };
}

function notFound(id: string): GatewayError {
  return new GatewayError("not_found", `Response with id '${id.slice(0, 200)}' not found.`);
}

function urlOf({ call: { request } }: Exchange): URL {
  // A request without a host has a bare path as its URL.
  return new URL(request.url, "http://localhost");
}

function queryOf(exchange: Exchange): URLSearchParams {
  return urlOf(exchange).searchParams;
}

function idIn(exchange: Exchange): string {
  const place = exchange.call.route.path.split("/").indexOf(":response_id");
  return decodeURIComponent(urlOf(exchange).pathname.split("/")[place] ?? "");
}

function listing(query: URLSearchParams) {
  const limit = Number(query.get("limit") ?? defaultLimit);
  if (!Number.isInteger(limit) || limit < 1 || limit > mostListed) {
    throw invalidRequest(`\`limit\` must be a whole number from 1 to ${mostListed}.`, "limit");
  }
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw invalidRequest("`order` must be asc or desc.", "order");
  return { limit, isAscending: order === "asc", after: query.get("after") };
}

function isListed({ type }: TurnItem): boolean {
  return type !== "reasoning";
}

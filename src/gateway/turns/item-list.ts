import { Type } from "@sinclair/typebox";
import { invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { isPlainSegment } from "../../base/path-segment.ts";
import { wholeFromDigits } from "../../base/typed-number.ts";
import { shownItem } from "../../dialects/openai-responses/client/shown-item.ts";
import type { TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import type { Exchange } from "../exchange.ts";

const defaultLimit = 20;
const mostListed = 100;

/** How a list of items is asked for, for the OpenAPI document. */
export const listQuery: readonly JsonObject[] = [
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
];

export const itemList = Type.Object({
  object: Type.Literal("list"),
  data: Type.Array(Type.Object({})),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean(),
});

/** The page of these items that the query asks for. */
export function listedPage(items: readonly TurnItem[], query: URLSearchParams): object {
  const { limit, isAscending, after } = listing(query);
  // By their ids, because a page begins after one: some servers give all their items the same.
  const shown = [...new Map(items.map((item) => [item.id, item])).values()];
  const ordered = isAscending ? shown : shown.toReversed();
  const start = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) throw invalidRequest("`after` names no item of this list.", "after");
  return listOf(ordered.slice(start, start + limit), start + limit < ordered.length);
}

export function listOf(page: readonly TurnItem[], hasMore = false): object {
  return {
    object: "list",
    data: page.map(shownItem),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

function listing(query: URLSearchParams) {
  const asked = query.get("limit");
  const limit = asked === null ? defaultLimit : wholeFromDigits(asked);
  if (limit === null || limit < 1 || limit > mostListed) {
    throw invalidRequest(`\`limit\` must be a whole number from 1 to ${mostListed}.`, "limit");
  }
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw invalidRequest("`order` must be asc or desc.", "order");
  return { limit, isAscending: order === "asc", after: query.get("after") };
}

function urlOf({ call: { request } }: Exchange): URL {
  // A request without a host has a bare path as its URL.
  return new URL(request.url, "http://localhost");
}

export function queryOf(exchange: Exchange): URLSearchParams {
  return urlOf(exchange).searchParams;
}

/** A segment of the request's path, by its name in the route. */
export function segmentOf(exchange: Exchange, name: string): string {
  const place = exchange.call.route.path.split("/").indexOf(`:${name}`);
  return decodeURIComponent(urlOf(exchange).pathname.split("/")[place] ?? "");
}

/** In characters, each of which may take nine in a path. */
const longestId = 512;

/** Whether it can be asked for by its id, which is then a segment of a path. */
export function isAddressable({ id }: TurnItem): boolean {
  return id === null || (id.length <= longestId && isPlainSegment(id));
}

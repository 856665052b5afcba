import { Type } from "@sinclair/typebox";
import { invalidRequest } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { wholeFromDigits } from "../../base/text/typed-number.ts";
import { shownItems } from "../../dialects/openai-responses/client/shown-item.ts";
import { sizeOf, type TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import { shownJob } from "../conversations/item-jobs.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { urlOf } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { bodyResponse } from "../response/body-response.ts";
import { commonHeaders } from "../response/headers.ts";
import { jsonHeaders } from "../response/pending-response.ts";

const defaultLimit = 20;
const maxListed = 100;

/** Writing more than this on the event loop takes long. */
const maxWrittenBytes = 256 * 1024;

/** Query parameters of a list of items, for the OpenAPI document. */
export const listQuery: readonly JsonObject[] = [
  {
    name: "limit",
    in: "query",
    schema: { type: "integer", minimum: 1, maximum: maxListed, default: defaultLimit },
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

/** The page of these items that the query selects. */
export function listPage(call: AdmittedCall, items: readonly TurnItem[]): Promise<Response> {
  const { limit, isAscending, after } = listing(urlOf(call.exchange.call).searchParams);
  // By their ids, because a page begins after one: some servers give all their items the same.
  const shown = [...new Map(items.map((item) => [item.id, item])).values()];
  const ordered = isAscending ? shown : shown.toReversed();
  const start = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0) throw invalidRequest("`after` is not an item of this list.", "after");
  const page = ordered.slice(start, start + limit);
  return listItems(call, page, start + limit < ordered.length);
}

export async function listItems(
  call: AdmittedCall,
  page: readonly TurnItem[],
  hasMore = false,
): Promise<Response> {
  const data = await writeItems(call, page);
  const ends = { first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null, has_more: hasMore };
  return respondWith(call.exchange, [
    Buffer.from('{"object":"list","data":'),
    data,
    Buffer.from(`,${JSON.stringify(ends).slice(1)}`),
  ]);
}

export async function showItem(call: AdmittedCall, item: TurnItem): Promise<Response> {
  const list = await writeItems(call, [item]);
  return respondWith(call.exchange, [list.subarray(1, -1)]);
}

/** Writes the items, on another thread if they are large. */
async function writeItems(call: AdmittedCall, items: readonly TurnItem[]): Promise<Uint8Array> {
  if (sizeOf(items) <= maxWrittenBytes) return shownItems(items);
  return call.gateway.largeBodies.runRequest(shownJob, items, call);
}

/** Responds with JSON in these pieces. */
export function respondWith(exchange: Exchange, pieces: readonly Uint8Array[]): Response {
  return bodyResponse(exchange, pieces, { headers: { ...commonHeaders(exchange), ...jsonHeaders } });
}

function listing(query: URLSearchParams) {
  const asked = query.get("limit");
  const limit = asked === null ? defaultLimit : wholeFromDigits(asked);
  if (limit === null || limit < 1 || limit > maxListed) {
    throw invalidRequest(`\`limit\` must be a whole number from 1 to ${maxListed}.`, "limit");
  }
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw invalidRequest("`order` must be asc or desc.", "order");
  return { limit, isAscending: order === "asc", after: query.get("after") };
}

/** A segment of the request's path, by its name in the route. */
export function segmentOf({ call }: Exchange, name: string): string {
  const place = call.route.path.split("/").indexOf(`:${name}`);
  return decodeURIComponent(urlOf(call).pathname.split("/")[place] ?? "");
}

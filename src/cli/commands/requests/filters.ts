import type { RequestedLabels } from "../../../admin/requests/find-exchanges.ts";
import type { ExchangeQuery } from "../../../store/store.ts";
import { chosenTime, rangeQuery, type TimeOptions, timeFields } from "../../chosen-time.ts";
import { choiceOption, option } from "../../help.ts";

type SearchFilters = Pick<ExchangeQuery, "search" | "outcome" | "code" | "model" | "provider" | "route">;

/** Which requests a command is about. */
export interface RequestFilters extends TimeOptions, SearchFilters, RequestedLabels {
  readonly key?: string;
}

const outcomes = ["completed", "failed", "rejected", "cancelled", "interrupted"] as const;

/** The list and the export have the same filters, so that what is listed can be exported. */
export const requestFilters = {
  search: option(
    "--search <text>",
    "a request's id, a key, an owner, an error code or a tag such as project=atlas",
  ),
  key: option("--key <key>", "only this key, by id, prefix or label"),
  ...timeFields,
  outcome: choiceOption("outcome", outcomes, "only requests with this outcome"),
  code: option("--code <code>", "only this error code, such as upstream_error"),
  model: option("--model <model>", "only this model"),
  provider: option("--provider <provider>", "only this provider"),
  route: option("--route <path>", "only this route, such as /v1/messages"),
  user: option("--user <user>", "only this end user, as sent by the client"),
  session: option("--session <session>", "only this conversation"),
  agent: option("--agent <agent>", "only this agent of a client, by its id"),
  batch: option("--batch <batch>", "only lines of this batch"),
  tag: option("--tag <name=value>", "only requests with this tag, such as project=atlas"),
};

/** The filters as operations take them. */
export function filterQuery(filters: RequestFilters, nowMs: number): object {
  return { ...filters, ...rangeQuery(chosenTime(filters, nowMs)) };
}

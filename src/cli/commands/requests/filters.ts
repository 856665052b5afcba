import type { RequestedLabels } from "../../../admin/requests/find-exchanges.ts";
import type { ExchangeQuery } from "../../../store/store.ts";
import { since } from "../../arguments.ts";
import { sinceHelp, type TimeOptions, untilHelp } from "../../chosen-time.ts";
import { choiceOption, type SluiceCommand } from "../../help.ts";

type SearchFilters = Pick<ExchangeQuery, "search" | "outcome" | "code" | "model" | "provider" | "route">;

/** Which requests a command is about. */
export interface RequestFilters extends TimeOptions, SearchFilters, RequestedLabels {
  readonly key?: string;
}

const outcomes = ["completed", "failed", "rejected", "cancelled", "interrupted"] as const;

/** The list and the export have the same filters, so that what is listed can be exported. */
export function withRequestFilters(command: SluiceCommand): SluiceCommand {
  return command
    .option(
      "--search <text>",
      "a request's id, a key, an owner, an error code or a tag such as project=atlas",
    )
    .option("--key <key>", "only this key, by id, prefix or label")
    .option("--since <when>", sinceHelp, (text) => since(text))
    .option("--until <when>", untilHelp, (text) => since(text))
    .addOption(choiceOption("outcome", outcomes, "only requests with this outcome"))
    .option("--code <code>", "only this error code, such as upstream_error")
    .option("--model <model>", "only this model")
    .option("--provider <provider>", "only this provider")
    .option("--route <path>", "only this route, such as /v1/messages")
    .option("--user <user>", "only this end user, as sent by the client")
    .option("--session <session>", "only this conversation")
    .option("--tag <name=value>", "only requests with this tag, such as project=atlas");
}

/** The filters as operations take them. */
export function filterQuery({
  search,
  key,
  outcome,
  code,
  model,
  provider,
  route,
  user,
  session,
  tag,
}: RequestFilters) {
  return { search, key, outcome, code, model, provider, route, user, session, tag };
}

import { type Static, Type } from "@sinclair/typebox";
import {
  count,
  counted,
  durationMs,
  figure,
  flag,
  moment,
  nullable,
  oneOf,
  text,
} from "../formats/shapes.ts";
import { inFlightView } from "../requests/schema.ts";

/** The definition of each metric, wherever it is shown. The table in docs/usage-reports.md matches it. */
const sums = {
  recorded_requests: counted(
    "Requests with a usage record: completed, or failed after the response had started. Rejected and cancelled requests have none.",
  ),
  completed: count,
  failed: counted("Failed with a 5xx, or after the response had started."),
  rejected: counted("Rejected with a 4xx."),
  cancelled: counted("The client disconnected."),
  interrupted: counted("The process ended; charged at the next start."),
  error_rate: nullable(
    Type.Number({ minimum: 0, maximum: 1, description: "`failed` among `completed` and `failed`." }),
  ),
  input_tokens: count,
  cached_input_tokens: count,
  cached_input_share: nullable(
    Type.Number({ minimum: 0, maximum: 1, description: "`cached_input_tokens` among `input_tokens`." }),
  ),
  output_tokens: count,
  spend: figure("Credits: total of the ledger's charges, including cancelled requests."),
  cancelled_spend: figure("The part of `spend` for cancelled requests."),
  interrupted_spend: figure("The part of `spend` for interrupted requests."),
  spend_tokens: figure("Tokens charged to token budgets."),
  list_cost: figure("Cost of token-budget usage at list price, in credits. Not part of `spend`."),
  cache_savings: figure("Credits saved by provider caches; at list price for token-budget keys."),
  overrun: figure(
    "Credits above the hold that were not charged, because a prepaid balance or cap was used up.",
  ),
  overrun_tokens: figure("Tokens above the hold that were not charged, because a token budget was used up."),
  recovered_attempts: counted(
    "Failed attempts of requests that completed by retry or failover, for the provider that failed.",
  ),
  average_first_byte_ms: nullable(durationMs),
  average_total_ms: nullable(durationMs),
};
export type UsageTotalsView = Static<ReturnType<typeof Type.Object<typeof sums>>>;

const percentiles = {
  first_byte_p50_ms: nullable(durationMs),
  first_byte_p95_ms: nullable(durationMs),
  total_p50_ms: nullable(durationMs),
  total_p95_ms: nullable(durationMs),
};

const sumsView = Type.Object({ ...sums, ...percentiles });
export type SumsView = Static<typeof sumsView>;

const usageRowView = Type.Object({
  group: nullable(
    text("The value of the dimension; null if there is none, or several dimensions were requested."),
  ),
  name: text("Display name; the label for keys and accounts."),
  groups: Type.Optional(
    Type.Record(Type.String(), nullable(Type.String()), { description: "The value of each dimension." }),
  ),
  ...sums,
});
export type UsageRowView = Static<typeof usageRowView>;

export const chartSteps = ["hour", "day", "week"] as const;
export type ChartStep = (typeof chartSteps)[number];

const { spend, list_cost, recorded_requests, input_tokens, output_tokens, cached_input_tokens } = sums;
const chartPoint = Type.Object({
  spend,
  list_cost,
  recorded_requests,
  input_tokens,
  output_tokens,
  cached_input_tokens,
});

const usageChartView = Type.Object({
  step: oneOf(chartSteps),
  at: Type.Array(Type.Integer(), { description: "The start of each step, Unix seconds." }),
  series: Type.Array(
    Type.Object({
      group: nullable(Type.Array(Type.String(), { description: "The value of each dimension." })),
      name: Type.String(),
      points: Type.Array(chartPoint),
    }),
    { description: "The eight largest groups and the rest, whose `group` is null." },
  ),
  before: Type.Array(chartPoint, {
    description: "Totals of the preceding range of the same length, step by step.",
  }),
  before_total: Type.Object(sums),
});
export type UsageChartView = Static<typeof usageChartView>;

export const usageView = Type.Object({
  by: text("The dimensions, separated by commas."),
  since: moment,
  until: moment,
  data: Type.Array(usageRowView),
  total: Type.Object(sums, { description: "Total over all groups, including other pages." }),
  chart: Type.Optional(usageChartView),
  as_model: Type.Optional(text("The model of `as_spend`.")),
  as_spend: Type.Optional(
    figure("What the compared requests would have cost on that model, each rounded once, in credits."),
  ),
  compared_spend: Type.Optional(figure("What they cost by their own rates, token budgets at list price.")),
  compared_requests: Type.Optional(count),
  not_comparable: Type.Optional(
    Type.Array(Type.Object({ reason: Type.String(), requests: count }), {
      description: "Charged requests that used something the other model has no price for.",
    }),
  ),
  next_cursor: nullable(text("Pass it as `cursor` to get the next page; null on the last.")),
});
export type UsageView = Static<typeof usageView>;

const sessionAgentView = Type.Object({
  agent: nullable(
    text("Null for the main conversation, `other` for agents that reports do not list by themselves."),
  ),
  parent_agent: nullable(text("The agent that started it, as the client sent it.")),
  depth: Type.Integer({ minimum: 0, description: "Its level in the tree." }),
  ...sums,
});
export type SessionAgentView = Static<typeof sessionAgentView>;

export const sessionAgentsView = Type.Object({
  since: moment,
  until: moment,
  data: Type.Array(sessionAgentView, {
    description: "In the order of the tree: each agent is followed by the agents that it started.",
  }),
  total: Type.Object(sums),
  complete: flag("All agents are listed. `total` includes all in any case."),
});
export type SessionAgentsView = Static<typeof sessionAgentsView>;

export const overviewRanges = ["1h", "24h", "7d", "30d"] as const;
export type OverviewRange = (typeof overviewRanges)[number];

const overviewPointView = Type.Object({
  at: Type.Integer({ description: "Start of the step, Unix seconds." }),
  ...sums,
  ...percentiles,
});
export type OverviewPointView = Static<typeof overviewPointView>;

export const overviewView = Type.Object({
  range: oneOf(overviewRanges),
  since: moment,
  until: moment,
  step_seconds: Type.Integer(),
  points: Type.Array(overviewPointView),
  totals: sumsView,
  before: Type.Object(sums, { description: "The preceding range of the same length, for comparison." }),
  top_models: Type.Array(usageRowView),
  top_keys: Type.Array(usageRowView),
  in_flight: count,
  oldest_in_flight: Type.Array(inFlightView),
});
export type OverviewView = Static<typeof overviewView>;

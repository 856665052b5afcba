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

const outcomes = ["completed", "failed", "cancelled", "interrupted"] as const;
export const requestOutcomes = [...outcomes, "rejected"] as const;
export const keyFilter = Type.Optional(text("A key's id, prefix or unique label."));

/** What requests are found by, besides their key, model and time. */
export const requestFilters = {
  code: Type.Optional(text("The error's code, such as `upstream_error`.")),
  user: Type.Optional(Type.String()),
  session: Type.Optional(Type.String()),
  agent: Type.Optional(text("Only requests of this agent, by the id that the client sent.")),
  batch: Type.Optional(text("Only lines of this batch, by its id.")),
  tag: Type.Optional(text("A tag and its value, such as `project=atlas`.")),
};

const bases = ["measured", "estimated"] as const;
export const entryKinds = ["topup", "adjustment", "charge", "overrun"] as const;

const chargedUnits = nullable(
  Type.Object(
    { kind: Type.String(), amount: Type.Number() },
    {
      description:
        "What was charged in addition to tokens: images, minutes, characters, search units or requests.",
    },
  ),
);

export const exchangeView = Type.Object({
  id: text("The `x-request-id` of its response."),
  entry: nullable(
    Type.Integer({ description: "Its ledger entry. Pass it as `entry` to look up an old request quickly." }),
  ),
  at: Type.String({ format: "date-time", description: "Start of the request, ISO 8601 in UTC." }),
  ended_at: Type.String({
    format: "date-time",
    description: "End of the request. Reports count it at this time.",
  }),
  key_id: Type.String(),
  key_prefix: Type.String(),
  key_label: nullable(Type.String()),
  route: Type.String(),
  model: Type.String(),
  unknown_model: nullable(text("The requested model, if it does not exist.")),
  provider: Type.String(),
  upstream_model: Type.String(),
  stream: Type.Boolean(),
  outcome: oneOf(requestOutcomes),
  status: nullable(
    Type.Integer({ description: "The status that the client got; null if the process ended first." }),
  ),
  code: nullable(text("The error's code.")),
  message: nullable(text("The error message that the client got.")),
  alike: counted("Number of identical outcomes in the same second that are counted with this one."),
  input_tokens: count,
  cached_input_tokens: count,
  cache_write_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
  units: chargedUnits,
  basis: nullable(oneOf(bases)),
  charged: figure("What was charged, in `unit`."),
  unit: oneOf(["credits", "tokens"]),
  cost: figure("`charged` of a credit key; 0 for a token-budget key."),
  list_cost: nullable(figure("Cost at list price in credits, for a token-budget key.")),
  first_byte_ms: nullable(durationMs),
  total_ms: nullable(durationMs),
  attempts: count,
  fallback_from: nullable(text("The model that was requested, if one of its fallbacks ran.")),
  stepped_down_from: nullable(text("The model that was requested, if a cap let another one run instead.")),
  owner: nullable(text("Who the key belonged to. Addresses are in lower case.")),
  user: nullable(text("The end user that the client sent.")),
  session: nullable(text("The conversation id that the client sent.")),
  agent: nullable(text("The id of the agent inside the client that sent it.")),
  parent_agent: nullable(text("The id of the agent that started `agent`.")),
  batch: nullable(text("The batch that it was a line of.")),
  tags: Type.Record(Type.String(), Type.String(), { description: "From the header `x-sluice-tags`." }),
  affinity: oneOf(["conversation", "none"]),
});
export type ExchangeView = Static<typeof exchangeView>;

const ratesView = Type.Object(
  {
    usd_per_credit: Type.Number(),
    tiers: Type.Optional(
      Type.Array(Type.String(), { description: "The service tiers that these rates apply to." }),
    ),
    input_above: Type.Optional(
      Type.Integer({ description: "The rates apply above this many input tokens." }),
    ),
  },
  {
    additionalProperties: true,
    description:
      "The price at the time of the request, with the configuration's names: USD per million tokens, or per thousand calls.",
  },
);

export const entryView = Type.Object({
  id: Type.Integer(),
  at: moment,
  account_id: Type.String(),
  key_id: Type.String(),
  key_prefix: Type.String(),
  key_label: nullable(Type.String()),
  kind: oneOf(entryKinds),
  amount: figure("In `unit`; charges are negative."),
  unit: oneOf(["credits", "tokens", "nano_credits"]),
  credits: nullable(figure("The amount in credits; null for a token budget.")),
  request_id: nullable(Type.String()),
  basis: nullable(oneOf(bases)),
  outcome: nullable(oneOf(outcomes)),
  period_start: nullable(
    Type.String({ format: "date-time", description: "Start of the budget period that it counts in." }),
  ),
  reference: nullable(Type.String()),
  note: nullable(Type.String()),
  model: nullable(Type.String()),
  requested_model: nullable(text("The model name that the client sent.")),
  provider: nullable(Type.String()),
  list_cost: nullable(figure("Cost at list price in credits, for a token-budget key.")),
  rates: nullable(ratesView),
  quantities: nullable(
    Type.Record(Type.String(), Type.Number(), {
      description: "The quantities charged, with the same names.",
    }),
  ),
  units: chargedUnits,
  calculation: nullable(text("How the cost was computed, such as `120 × 5.00/M + 40 × 30.00/M = 0.0018`.")),
});
export type EntryView = Static<typeof entryView>;

const attemptView = Type.Object({
  deployment: text("`provider/upstream_model`."),
  status: nullable(Type.Integer({ description: "The provider's HTTP status; null without a response." })),
  failure: nullable(text("Such as `status_500` or `timeout`; null if it succeeded.")),
  cause: nullable(text("The system's code, such as `ECONNREFUSED`.")),
  provider_message: nullable(text("The provider's error message, at most 500 characters.")),
  duration_ms: durationMs,
  next: nullable(oneOf(["retry", "other_key", "next_deployment"])),
  denied: Type.Array(Type.Object({ model: Type.String(), message: Type.String() }), {
    description: "Models that did not run, because a limit denied them: the requested one, or fallbacks.",
  }),
});
export type AttemptView = Static<typeof attemptView>;

export const exchangeDetailView = Type.Object({
  id: exchangeView.properties.id,
  request: Type.Union([exchangeView, Type.Null()], {
    description: "Null for an old cancelled or interrupted request: only its ledger entries remain.",
  }),
  explanation: text("Why it ended this way, and what to do."),
  attempts: Type.Array(attemptView),
  settle_ms: nullable(
    figure(
      "Time from the end of the response until the charge was written. Null if the gateway no longer has it.",
    ),
  ),
  entries: Type.Array(entryView),
  others: Type.Array(Type.String(), { description: "Other requests to which clients gave the same id." }),
});
export type ExchangeDetailView = Static<typeof exchangeDetailView>;

/** One line of the live tail: an exchange that has just ended, rejected ones included. */
const tailView = Type.Object({
  id: Type.String(),
  at: moment,
  key_prefix: nullable(Type.String()),
  key_label: nullable(Type.String()),
  route: Type.String(),
  model: nullable(Type.String()),
  provider: nullable(Type.String()),
  stream: Type.Boolean(),
  status: Type.Integer(),
  error_code: nullable(Type.String()),
  outcome: Type.String(),
  kept: flag("Whether it can be looked up: only requests with a valid key are stored."),
  input_tokens: count,
  output_tokens: count,
  charged: Type.Number(),
  unit: oneOf(["credits", "tokens"]),
  first_byte_ms: nullable(durationMs),
  total_ms: durationMs,
  attempts: count,
});
export type TailView = Static<typeof tailView>;

export const inFlightView = Type.Object({
  id: Type.String(),
  key_prefix: Type.String(),
  model: Type.String(),
  route: Type.String(),
  stream: Type.Boolean(),
  age_ms: durationMs,
});
export type InFlightView = Static<typeof inFlightView>;

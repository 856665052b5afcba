import { type Static, Type } from "@sinclair/typebox";
import { count, credits, durationMs, moment, nullable, oneOf } from "./shapes.ts";

export const outcomes = ["completed", "failed", "cancelled", "interrupted"] as const;
const bases = ["measured", "estimated"] as const;
export const entryKinds = ["topup", "adjustment", "charge", "overrun"] as const;

export const exchangeView = Type.Object({
  id: Type.String({ description: "The `x-request-id` of its response." }),
  entry: Type.Integer({ description: "Its place in the ledger; finding an old exchange by it is instant." }),
  at: moment,
  key_id: Type.String(),
  key_prefix: Type.String(),
  key_label: nullable(Type.String()),
  route: Type.String(),
  model: Type.String(),
  provider: Type.String(),
  upstream_model: Type.String(),
  stream: Type.Boolean(),
  outcome: oneOf(outcomes),
  status: Type.Integer(),
  input_tokens: count,
  cached_input_tokens: count,
  cache_write_tokens: count,
  output_tokens: count,
  reasoning_tokens: count,
  basis: oneOf(bases),
  cost: credits,
  first_byte_ms: nullable(durationMs),
  total_ms: durationMs,
  attempts: count,
});
export type ExchangeView = Static<typeof exchangeView>;

export const entryView = Type.Object({
  id: Type.Integer(),
  at: moment,
  key_id: Type.String(),
  key_prefix: Type.String(),
  kind: oneOf(entryKinds),
  amount: Type.Number({ description: "Signed as it changes the balance." }),
  unit: oneOf(["credits", "tokens"]),
  exchange_id: nullable(Type.String()),
  basis: nullable(oneOf(bases)),
  outcome: nullable(oneOf(outcomes)),
  reference: nullable(Type.String()),
  note: nullable(Type.String()),
});
export type EntryView = Static<typeof entryView>;

export const exchangeDetailView = Type.Object({
  exchange: Type.Union([exchangeView, Type.Null()], {
    description: "Null for a cancelled or interrupted exchange: those leave ledger entries only.",
  }),
  entries: Type.Array(entryView),
});
export type ExchangeDetailView = Static<typeof exchangeDetailView>;

/** One line of the live tail: an exchange the moment it ended, refused ones too. */
const tailView = Type.Object({
  id: Type.String(),
  at: moment,
  key_prefix: nullable(Type.String()),
  route: Type.String(),
  model: nullable(Type.String()),
  provider: nullable(Type.String()),
  stream: Type.Boolean(),
  status: Type.Integer(),
  error_code: nullable(Type.String()),
  outcome: Type.String(),
  input_tokens: count,
  output_tokens: count,
  charged: Type.Number(),
  unit: oneOf(["credits", "tokens"]),
  first_byte_ms: nullable(durationMs),
  total_ms: durationMs,
  attempts: count,
});
export type TailView = Static<typeof tailView>;

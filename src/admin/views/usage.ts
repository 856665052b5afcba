import { type Static, Type } from "@sinclair/typebox";
import { count, credits, durationMs, moment, nullable, oneOf } from "./shapes.ts";

const sums = {
  requests: count,
  errors: count,
  input_tokens: count,
  output_tokens: count,
  spend: credits,
};

const percentiles = {
  first_byte_p50_ms: nullable(durationMs),
  first_byte_p95_ms: nullable(durationMs),
  total_p50_ms: nullable(durationMs),
  total_p95_ms: nullable(durationMs),
};

const sumsView = Type.Object({ ...sums, ...percentiles });
export type SumsView = Static<typeof sumsView>;

const usageRowView = Type.Object({
  group: Type.String({ description: "A time, a key's id, a model or a provider." }),
  name: Type.String({ description: "What people call it: for keys the label." }),
  ...sums,
});
export type UsageRowView = Static<typeof usageRowView>;

export const usageGroupings = ["hour", "day", "key", "model", "provider"] as const;

export const usageView = Type.Object({
  by: oneOf(usageGroupings),
  since: moment,
  until: moment,
  data: Type.Array(usageRowView),
});
export type UsageView = Static<typeof usageView>;

export const overviewRanges = ["1h", "24h", "7d", "30d"] as const;
export type OverviewRange = (typeof overviewRanges)[number];

const overviewPointView = Type.Object({
  at: Type.Integer({ description: "Start of the step, Unix seconds." }),
  ...sums,
  ...percentiles,
});
export type OverviewPointView = Static<typeof overviewPointView>;

const inFlightView = Type.Object({
  id: Type.String(),
  key_prefix: Type.String(),
  model: Type.String(),
  route: Type.String(),
  stream: Type.Boolean(),
  age_ms: durationMs,
});
export type InFlightView = Static<typeof inFlightView>;

export const overviewView = Type.Object({
  range: oneOf(overviewRanges),
  step_seconds: Type.Integer(),
  points: Type.Array(overviewPointView),
  totals: sumsView,
  before: Type.Object(sums, { description: "The same length of time before, to compare with." }),
  top_models: Type.Array(usageRowView),
  top_keys: Type.Array(usageRowView),
  in_flight: count,
  oldest_in_flight: Type.Array(inFlightView),
});
export type OverviewView = Static<typeof overviewView>;

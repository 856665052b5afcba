import { type Static, Type } from "@sinclair/typebox";
import { modelUses } from "../../base/models/model-uses.ts";
import { forEachCallPrice } from "../../base/usage/hosted-tools.ts";
import { body, count, counted, flag, moment, nullable, oneOf, text } from "../formats/shapes.ts";

const usdPerMillion = Type.Number({ minimum: 0, description: "USD per million tokens." });

const tokenRates = {
  input: usdPerMillion,
  output: usdPerMillion,
  cached_input: usdPerMillion,
  cache_write: usdPerMillion,
  cache_write_1h: Type.Optional(usdPerMillion),
  cache_write_24h: Type.Optional(usdPerMillion),
  audio_input: Type.Optional(usdPerMillion),
  audio_output: Type.Optional(usdPerMillion),
  image_input: Type.Optional(usdPerMillion),
  image_output: Type.Optional(usdPerMillion),
  cached_audio_input: Type.Optional(usdPerMillion),
  cached_image_input: Type.Optional(usdPerMillion),
};

const longContext = Type.Object({
  above: Type.Integer({
    minimum: 1,
    description: "Input tokens. Requests with more are billed at these prices.",
  }),
  ...tokenRates,
});

type LongContext = Static<typeof longContext>;

const tokenPrices = {
  ...tokenRates,
  long_context: Type.Optional(
    Type.Unsafe<LongContext | readonly LongContext[]>(Type.Union([longContext, Type.Array(longContext)])),
  ),
};

const usdPerThousandCalls = Type.Optional(Type.Number({ minimum: 0, description: "USD per 1,000 calls." }));

/** Prices by unit; images may differ by quality and size. */
const usdPerUnit = Type.Optional(
  Type.Union([Type.Number({ minimum: 0 }), Type.Record(Type.String(), Type.Number({ minimum: 0 }))]),
);
const prices = {
  ...tokenPrices,
  images: usdPerUnit,
  characters: usdPerUnit,
  audio_minutes: usdPerUnit,
  speech_minutes: usdPerUnit,
  search_units: usdPerUnit,
  requests: usdPerUnit,
  ...forEachCallPrice(usdPerThousandCalls),
  tiers: Type.Optional(Type.Record(Type.String(), Type.Object(tokenPrices))),
};

export const priceView = Type.Object({
  ...prices,
  later: Type.Optional(
    Type.Record(Type.String(), Type.Object(prices), {
      description: "The prices that replace it, by the day on which each begins.",
    }),
  ),
});
export type PriceView = Static<typeof priceView>;

const healthView = Type.Object({
  state: oneOf(["closed", "open", "half_open", "cooling"]),
  wait_ms: Type.Number({
    minimum: 0,
    description: "Time until the next attempt; 0 if it can be called now.",
  }),
  in_flight: count,
  alarm: nullable(text("Why it needs attention, such as `billing`. Null after a successful response.")),
  failing: nullable(
    Type.Object(
      {
        since: moment,
        at: moment,
        failure: text("The failure of the last call, such as `status_500`."),
        last_error: nullable(text("The provider's last error message.")),
      },
      { description: "The last error; null after a successful response." },
    ),
  ),
  recent_attempts: counted("Within the last 30 seconds."),
  recent_failures: count,
  keys: count,
  keys_ready: counted("Credentials not in cooldown."),
});

const deploymentView = Type.Object({
  name: text("`provider/upstream_model`."),
  provider: Type.String(),
  upstream_model: Type.String(),
  dialects: Type.Array(Type.String(), {
    description: "Supported dialects. The client's own is used if listed, else the richest.",
  }),
  priority: Type.Integer(),
  weight: Type.Integer(),
  price: nullable(priceView),
  health: healthView,
});
export type DeploymentView = Static<typeof deploymentView>;

export const modelView = Type.Object({
  id: Type.String(),
  aliases: Type.Array(Type.String()),
  display_name: nullable(Type.String()),
  tagline: nullable(Type.String()),
  owned_by: Type.String(),
  provider: Type.String(),
  public: Type.Boolean(),
  free: Type.Boolean(),
  serves: Type.Array(oneOf(modelUses), { description: "What the model can be used for." }),
  context_window: nullable(count),
  max_output_tokens: nullable(count),
  price: nullable(priceView),
  price_source: nullable(oneOf(["config", "catalog"] as const)),
  price_checked: nullable(text("The day on which the price was last checked.")),
  capabilities: Type.Record(Type.String(), Type.Unknown()),
  fallbacks: Type.Array(Type.String()),
  deployments: Type.Array(deploymentView),
});
export type ModelView = Static<typeof modelView>;

export const modelBriefView = Type.Object({
  id: Type.String(),
  display_name: nullable(Type.String()),
  owned_by: Type.String(),
  providers: Type.Array(Type.String()),
  aliases: Type.Array(Type.String()),
  listed: flag("Whether lists show it, such as `GET /v1/models`."),
  public: Type.Boolean(),
  free: Type.Boolean(),
  serves: Type.Array(oneOf(modelUses)),
  abilities: Type.Array(Type.String()),
  context_window: nullable(count),
  ends: nullable(text("The day on which its provider stops serving it.")),
  price: nullable(
    Type.Record(Type.String(), Type.Number({ minimum: 0 }), {
      description: "USD per million `input` and `output` tokens, or per unit.",
    }),
  ),
  health: nullable(healthView),
});
export type ModelBriefView = Static<typeof modelBriefView>;

export const modelCheckBody = body({ model: Type.Optional(text("Check every deployment of this model.")) });

export const providerKeyCheckView = Type.Object({
  provider: Type.String(),
  base_url: nullable(text("Null for a provider that is skipped.")),
  state: oneOf(["ok", "unchecked", "failed", "skipped"]),
  text: text("What was found."),
  fix: nullable(text("What to do about it.")),
});
export type ProviderKeyCheckView = Static<typeof providerKeyCheckView>;

export const modelCheckView = Type.Object({
  provider: Type.String(),
  usable: flag("False for a provider that is skipped, because a secret of its is missing."),
  dialect: nullable(Type.String()),
  upstream_model: nullable(Type.String()),
  key: nullable(
    Type.Integer({ minimum: 1, description: "Which key of the provider's pool; null without one." }),
  ),
  ok: Type.Boolean(),
  status: nullable(Type.Integer({ description: "Null without a response." })),
  took_ms: count,
  problem: nullable(text("The problem and what to do.")),
});
export type ModelCheckView = Static<typeof modelCheckView>;

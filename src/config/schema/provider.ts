import { type TOptional, Type } from "@sinclair/typebox";
import { modelPatternForm } from "../../base/models/model-pattern.ts";
import { maxFactor } from "../../base/money/money.ts";
import {
  type VendorOptionName,
  vendorOption,
  vendorOptionNames,
  type vendorOptions,
} from "../../vendors/options.ts";
import { vendorKinds } from "../../vendors/registry.ts";
import {
  choice,
  dialect,
  flag,
  headers,
  maxTokensField,
  named,
  secret,
  table,
  text,
  timeoutsSchema,
  whole,
} from "./parts.ts";

// The cast holds because each schema is the one of its name.
const optionSchemas = Object.fromEntries(
  vendorOptionNames.map((name) => [name, Type.Optional(vendorOption(name).schema)]),
) as unknown as { [Name in VendorOptionName]: TOptional<(typeof vendorOptions)[Name]["schema"]> };

const factor = (description: string) =>
  Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: maxFactor, default: 1, description }));

/** Settings of all kinds of providers, which the admin API shows unchanged. */
export const generalProviderSchema = table({
  stream_usage: flag("Whether chat streams understand `stream_options.include_usage`.", true),
  count_tokens: flag("Whether the provider can count tokens; default: by the kind."),
  rate_limit_headers: flag(
    "Whether clients see its rate-limit headers, under the names of the client's format. They describe your account.",
    false,
  ),
  max_tokens_field: maxTokensField,
  max_concurrent: whole("Maximum concurrent calls; up to 64 more wait. Default: no limit.", { minimum: 1 }),
});

export const providerSchema = table({
  kind: Type.Union(
    vendorKinds.map((kind) => Type.Literal(kind)),
    { description: "The API family. Default addresses, credentials and dialects depend on it." },
  ),
  api_key: Type.Optional(
    Type.Union([secret, Type.Array(secret, { minItems: 1 })], {
      description: "A secret, written `env:NAME` or `file:/path`, or several, one for each conversation.",
    }),
  ),
  base_url: text("The base URL as in the vendor's own SDK: OpenAI kinds with /v1, Anthropic without.", {
    pattern: "^https?://",
  }),
  models: Type.Optional(
    Type.Union(
      [
        Type.Literal("catalog"),
        Type.Array(Type.String({ pattern: modelPatternForm.source }), { minItems: 1, uniqueItems: true }),
      ],
      {
        description:
          'Models served at the built-in list prices without an entry each: "catalog" for all, or names with `*`. Entries under [[models]] take precedence.',
      },
    ),
  ),
  catalog: named("The catalog to use, such as mistral; default: by kind."),
  cost_factor: factor(
    "The provider's price divided by the list price, such as 1.1 for a regional endpoint; at most four decimals.",
  ),
  markup: factor("Your margin: what is charged divided by what the provider bills; at most four decimals."),
  batch: Type.Optional(
    Type.Union([Type.Literal("gateway"), Type.Literal("native"), Type.Literal("off")], {
      description:
        "How lines of batches run on models of the catalog, as `batch` of a model. Default: gateway.",
    }),
  ),
  unpriced: choice(
    ["reject", "budget-only"],
    "Models that match `models` and have no known price: rejected, or for token-budget keys only.",
    "reject",
  ),
  dialects: Type.Optional(
    Type.Array(dialect, {
      minItems: 1,
      uniqueItems: true,
      description: "The formats that the provider supports.",
    }),
  ),
  headers: headers("Sent with every request; values may be secrets."),
  ...generalProviderSchema.properties,
  timeouts: Type.Optional(timeoutsSchema),
  ...optionSchemas,
});

import { Type } from "@sinclair/typebox";
import { defaults } from "../defaults.ts";
import { closed, dialect, maxTokensField, timeoutsSchema } from "./parts.ts";
import { priceSchema } from "./price.ts";

/** More than any model has, and small enough for the cost of a call to stay exact. */
const maxTokens = 1_000_000_000;

/** What a model and each of its deployments may say. */
const upstreamModelSettings = {
  family: Type.Optional(
    Type.String({
      minLength: 1,
      description: "The model's own name, such as gpt-5.6, where upstream_model is a deployment's name.",
    }),
  ),
  dialect: Type.Optional(
    Type.Union(dialect.anyOf, {
      description: "The one that this model takes, where its provider speaks several.",
    }),
  ),
  max_tokens_field: Type.Optional(maxTokensField),
};

export const deploymentSchema = Type.Object(
  {
    provider: Type.String({ minLength: 1 }),
    upstream_model: Type.Optional(Type.String({ minLength: 1 })),
    ...upstreamModelSettings,
    priority: Type.Optional(
      Type.Integer({ minimum: 0, default: defaults.priority, description: "Lower numbers are tried first." }),
    ),
    weight: Type.Optional(
      Type.Integer({ minimum: 1, default: defaults.weight, description: "Share among one priority." }),
    ),
    max_concurrent: Type.Optional(Type.Integer({ minimum: 1 })),
    price: Type.Optional(priceSchema),
  },
  closed,
);

export const capabilitiesSchema = Type.Object(
  {
    tools: Type.Optional(Type.Boolean()),
    vision: Type.Optional(Type.Boolean()),
    reasoning: Type.Optional(Type.Boolean()),
    structured_output: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: Type.Unknown() },
);

export const modelSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, description: "What clients ask for." }),
    aliases: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description:
          "Other names for the model. What is asked for by one is charged and reported under the id.",
      }),
    ),
    list_aliases: Type.Optional(
      Type.Boolean({ default: true, description: "Whether `GET /v1/models` has the aliases too." }),
    ),
    provider: Type.Optional(Type.String({ minLength: 1 })),
    upstream_model: Type.Optional(
      Type.String({ minLength: 1, description: "The provider's name; default: id." }),
    ),
    ...upstreamModelSettings,
    deployments: Type.Optional(Type.Array(deploymentSchema, { minItems: 1 })),
    fallbacks: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description: "Other models to try when all deployments fail.",
      }),
    ),
    display_name: Type.Optional(Type.String()),
    tagline: Type.Optional(Type.String()),
    owned_by: Type.Optional(Type.String()),
    created: Type.Optional(Type.Integer({ minimum: 0, description: "Unix seconds." })),
    public: Type.Optional(Type.Boolean({ default: true, description: "Listed for callers without a key." })),
    free: Type.Optional(
      Type.Boolean({ default: false, description: "A model without a price that costs nothing." }),
    ),
    context_window: Type.Optional(Type.Integer({ minimum: 1, maximum: maxTokens })),
    max_output_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: maxTokens })),
    price: Type.Optional(priceSchema),
    capabilities: Type.Optional(capabilitiesSchema),
    timeouts: Type.Optional(timeoutsSchema),
  },
  closed,
);

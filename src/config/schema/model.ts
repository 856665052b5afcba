import { type TUnsafe, Type } from "@sinclair/typebox";
import { type ModelUse, modelUses, usualUses } from "../../base/model-uses.ts";
import { affinities, cacheSettings, defaults } from "../defaults.ts";
import { closed, dialect, maxTokensField, modelTimeoutsSchema } from "./parts.ts";
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
    provider: Type.String({ minLength: 1, description: "A name under [providers]." }),
    upstream_model: Type.Optional(
      Type.String({ minLength: 1, description: "The provider's name; default: the model's id." }),
    ),
    ...upstreamModelSettings,
    priority: Type.Optional(
      Type.Integer({ minimum: 0, default: defaults.priority, description: "Lower numbers are tried first." }),
    ),
    weight: Type.Optional(
      Type.Integer({ minimum: 1, default: defaults.weight, description: "Share among one priority." }),
    ),
    max_concurrent: Type.Optional(
      Type.Integer({ minimum: 1, description: "Calls at once; some more wait. Default: no limit." }),
    ),
    price: Type.Optional(priceSchema),
  },
  closed,
);

// The cast holds because the list is that of the type.
const use = Type.Union(modelUses.map((name) => Type.Literal(name))) as unknown as TUnsafe<ModelUse>;

const capability = (description: string) => Type.Optional(Type.Boolean({ description }));

/** Clients are shown other names too, which mean something to them alone. */
export const capabilitiesSchema = Type.Object(
  {
    tools: capability("Calls tools; false: requests with tools are refused."),
    vision: capability("Takes images. Shown to clients."),
    reasoning: capability("Takes an effort or thinking; default: by the model's name, as are those below."),
    structured_output: capability("Claude: takes a format, and strict tools."),
    sampling: capability("Takes temperature and top_p."),
    system_messages: capability("Takes instructions in the middle of a Messages conversation."),
    cache_control: capability("A chat provider that understands Anthropic's cache marks."),
    cache_breakpoints: capability("Takes OpenAI's prompt_cache_breakpoint."),
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
    serves: Type.Optional(
      Type.Array(use, {
        minItems: 1,
        uniqueItems: true,
        default: usualUses,
        description: "What it may be asked for. Requests for anything else are refused.",
      }),
    ),
    provider: Type.Optional(
      Type.String({
        minLength: 1,
        description: "A name under [providers], if there is one deployment only.",
      }),
    ),
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
    display_name: Type.Optional(
      Type.String({ description: "Shown to people in the model list; default: id." }),
    ),
    tagline: Type.Optional(Type.String({ description: "A sentence about it in the model list." })),
    owned_by: Type.Optional(
      Type.String({ description: "Its maker in the model list; default: the provider's name." }),
    ),
    created: Type.Optional(Type.Integer({ minimum: 0, description: "Unix seconds." })),
    public: Type.Optional(Type.Boolean({ default: true, description: "Listed for callers without a key." })),
    free: Type.Optional(
      Type.Boolean({ default: false, description: "A model without a price that costs nothing." }),
    ),
    context_window: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxTokens,
        description: "Tokens of input and output; a longer input is refused.",
      }),
    ),
    max_output_tokens: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxTokens,
        description: "The most that it produces for one request.",
      }),
    ),
    image_tokens_max: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxTokens,
        description: "Tokens of one image at its highest quality and size, for the hold.",
      }),
    ),
    price: Type.Optional(priceSchema),
    allow: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description:
          "Fields that clients may send although nobody knows here what they cost, such as provider and route of OpenRouter, and tools without a price, such as tools.x_search.",
      }),
    ),
    capabilities: Type.Optional(capabilitiesSchema),
    cache: Type.Optional(
      Type.Union(
        cacheSettings.map((setting) => Type.Literal(setting)),
        {
          default: defaults.cache,
          description:
            "Claude, asked by clients of OpenAI's dialects: whether conversations with tools are marked for its cache.",
        },
      ),
    ),
    affinity: Type.Optional(
      Type.Union(
        affinities.map((affinity) => Type.Literal(affinity)),
        {
          default: defaults.affinity,
          description:
            "Whether a conversation stays with one deployment and one API key, where the provider has cached its prompt.",
        },
      ),
    ),
    timeouts: Type.Optional(modelTimeoutsSchema),
  },
  closed,
);

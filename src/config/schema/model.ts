import { type TUnsafe, Type } from "@sinclair/typebox";
import { type ModelUse, modelUses, usualUses } from "../../base/models/model-uses.ts";
import { contentLevels } from "../../base/requests/content-level.ts";
import {
  choice,
  day,
  dialect,
  flag,
  list,
  maxTokensField,
  modelTimeouts,
  name,
  named,
  table,
  text,
  whole,
} from "./parts.ts";
import { priceSchema } from "./price.ts";

/** More than any model has, and small enough for the cost of a call to stay exact. */
const maxTokens = 1_000_000_000;

const tokens = (description: string) => whole(description, { minimum: 1, maximum: maxTokens });

/** Settings of a model and of each of its deployments. */
const upstreamModelSettings = {
  family: named("The model behind upstream_model, such as gpt-5.6, if its name does not show it."),
  dialect: Type.Optional(
    Type.Union(dialect.anyOf, {
      description: "The format for this model, if its provider supports several.",
    }),
  ),
  max_tokens_field: maxTokensField,
};

export const deploymentSchema = table({
  provider: Type.String({ minLength: 1, description: "A name under [providers]." }),
  upstream_model: named("The model's name at the provider; default: the model's id."),
  ...upstreamModelSettings,
  priority: whole("Lower numbers are tried first.", { minimum: 0, default: 1 }),
  weight: whole("Share of requests within one priority.", { minimum: 1, default: 1 }),
  max_concurrent: whole("Maximum concurrent calls; up to 64 more wait. Default: no limit.", { minimum: 1 }),
  price: Type.Optional(priceSchema),
});

// The cast holds because the list has exactly the members of the type.
const use = Type.Union(modelUses.map((each) => Type.Literal(each))) as unknown as TUnsafe<ModelUse>;

/** All but the first two are inferred from the model's name. */
export const capabilitiesSchema = table({
  tools: flag("Calls tools; false: requests with tools are rejected."),
  vision: flag("Supports images; false: requests with images are rejected."),
  reasoning: flag("Supports an effort or thinking; default: by the model's name, as are those below."),
  effort_none: flag("Supports the effort `none`, which turns reasoning off."),
  structured_output: flag("Claude: supports output formats and strict tools."),
  sampling: flag("Supports temperature and top_p."),
  system_messages: flag("Supports instructions in the middle of a Messages conversation."),
  cache_control: flag("A chat provider that supports Anthropic's cache marks."),
  cache_breakpoints: flag("Supports OpenAI's prompt_cache_breakpoint."),
  thought_signatures: flag("Gemini: rejects calls without their signature."),
  function_ids: flag("Gemini: supports ids of calls."),
  json_schema: flag("Gemini: supports a JSON schema for the output."),
  service_tier: flag("Gemini: supports a service tier."),
  labels: flag("Gemini: supports labels."),
});

export const modelSchema = table({
  id: Type.String({ minLength: 1, description: "The name that clients send." }),
  aliases: list(
    name,
    "Other names for the model. Requests under an alias are charged and reported under the id.",
  ),
  list_aliases: flag("Whether `GET /v1/models` lists the aliases too.", true),
  serves: Type.Optional(
    Type.Array(use, {
      minItems: 1,
      uniqueItems: true,
      default: usualUses,
      description: "What the model is for. Other requests are rejected.",
    }),
  ),
  provider: named("A name under [providers], if there is one deployment only."),
  upstream_model: named("The model's name at the provider; default: id."),
  ...upstreamModelSettings,
  deployments: Type.Optional(Type.Array(deploymentSchema, { minItems: 1 })),
  fallbacks: list(name, "Other models to try when all deployments fail."),
  display_name: text("Shown to people in the model list; default: id."),
  tagline: text("A sentence about it in the model list."),
  owned_by: text("Its maker in the model list; default: the provider's name."),
  created: whole("Unix seconds.", { minimum: 0 }),
  public: flag("Listed for callers without a key.", true),
  listed: flag("Whether model lists include it. It is served either way.", true),
  ends: day("The day on which its provider stops serving it, as 2027-01-06."),
  free: flag("The model costs nothing and needs no price.", false),
  context_window: tokens("Maximum tokens of input and output together; a longer input is rejected."),
  max_output_tokens: tokens("Maximum output tokens of one request."),
  image_tokens_max: tokens("Tokens of one image at its highest quality and size, for the hold."),
  price: Type.Optional(priceSchema),
  price_checked: day("The day on which the price was last compared with the provider's list, as 2026-10-31."),
  price_confirmed: flag(
    "The price is right, although it is 1,000 times or more off the list price, or off every price of its vendor.",
    false,
  ),
  allow: list(
    name,
    "Fields that clients can send although Sluice does not know their cost, such as OpenRouter's provider and route, and tools without a price, such as tools.x_search.",
  ),
  capabilities: Type.Optional(capabilitiesSchema),
  cache: choice(
    ["auto", "none"],
    "Whether requests of OpenAI clients to Claude get cache marks, if they have tools.",
    "auto",
  ),
  affinity: choice(
    ["conversation", "none"],
    "Whether a conversation stays with one deployment and one API key, where the provider has cached its prompt.",
    "conversation",
  ),
  content: Type.Optional(
    Type.Union(
      contentLevels.map((level) => Type.Literal(level)),
      { description: "The most content that is recorded of its requests; needs [content]." },
    ),
  ),
  batch: choice(
    ["gateway", "native", "off"],
    "How lines of batches run on the model. Native: in the provider's own batches, at price.tiers.batch; only Anthropic. Off: such lines are rejected.",
    "gateway",
  ),
  batch_tier: Type.Optional(
    Type.Union([Type.Literal("flex")], {
      description:
        "The service tier of lines that name none, which costs at OpenAI and Azure what their batches cost. Needs price.tiers.flex.",
    }),
  ),
  timeouts: modelTimeouts,
});

/** The settings that only a model has. The others are merged with its provider's (models.ts), or only checked. */
export const ownModelSchema = Type.Omit(modelSchema, [
  "provider",
  "upstream_model",
  "family",
  "dialect",
  "max_tokens_field",
  "deployments",
  "price",
  "price_confirmed",
  "timeouts",
]);

export const ownDeploymentSchema = Type.Pick(deploymentSchema, ["priority", "weight", "max_concurrent"]);

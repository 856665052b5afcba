import { type TUnsafe, Type } from "@sinclair/typebox";
import { type ModelUse, modelUses, usualUses } from "../../base/models/model-uses.ts";
import { contentLevels } from "../../base/requests/content-level.ts";
import { expectedText } from "../../base/text/schema-text";
import {
  choice,
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

/** What a model and each of its deployments may say. */
const upstreamModelSettings = {
  family: named("The model's own name, such as gpt-5.6, where upstream_model is a deployment's name."),
  dialect: Type.Optional(
    Type.Union(dialect.anyOf, {
      description: "The one that this model takes, where its provider speaks several.",
    }),
  ),
  max_tokens_field: maxTokensField,
};

export const deploymentSchema = table({
  provider: Type.String({ minLength: 1, description: "A name under [providers]." }),
  upstream_model: named("The provider's name; default: the model's id."),
  ...upstreamModelSettings,
  priority: whole("Lower numbers are tried first.", { minimum: 0, default: 1 }),
  weight: whole("Share among one priority.", { minimum: 1, default: 1 }),
  max_concurrent: whole("Calls at once; some more wait. Default: no limit.", { minimum: 1 }),
  price: Type.Optional(priceSchema),
});

// The cast holds because the list is that of the type.
const use = Type.Union(modelUses.map((each) => Type.Literal(each))) as unknown as TUnsafe<ModelUse>;

/** Clients are shown other names too, which mean something to them alone. */
export const capabilitiesSchema = Type.Object(
  {
    tools: flag("Calls tools; false: requests with tools are rejected."),
    vision: flag("Takes images. Shown to clients."),
    reasoning: flag("Takes an effort or thinking; default: by the model's name, as are those below."),
    structured_output: flag("Claude: takes a format, and strict tools."),
    sampling: flag("Takes temperature and top_p."),
    system_messages: flag("Takes instructions in the middle of a Messages conversation."),
    cache_control: flag("A chat provider that understands Anthropic's cache marks."),
    cache_breakpoints: flag("Takes OpenAI's prompt_cache_breakpoint."),
  },
  { additionalProperties: Type.Unknown() },
);

export const modelSchema = table({
  id: Type.String({ minLength: 1, description: "What clients ask for." }),
  aliases: list(
    name,
    "Other names for the model. What is asked for by one is charged and reported under the id.",
  ),
  list_aliases: flag("Whether `GET /v1/models` has the aliases too.", true),
  serves: Type.Optional(
    Type.Array(use, {
      minItems: 1,
      uniqueItems: true,
      default: usualUses,
      description: "What it can be requested for. Requests for anything else are rejected.",
    }),
  ),
  provider: named("A name under [providers], if there is one deployment only."),
  upstream_model: named("The provider's name; default: id."),
  ...upstreamModelSettings,
  deployments: Type.Optional(Type.Array(deploymentSchema, { minItems: 1 })),
  fallbacks: list(name, "Other models to try when all deployments fail."),
  display_name: text("Shown to people in the model list; default: id."),
  tagline: text("A sentence about it in the model list."),
  owned_by: text("Its maker in the model list; default: the provider's name."),
  created: whole("Unix seconds.", { minimum: 0 }),
  public: flag("Listed for callers without a key.", true),
  free: flag("A model without a price that costs nothing.", false),
  context_window: tokens("Tokens of input and output; a longer input is rejected."),
  max_output_tokens: tokens("The most that it produces for one request."),
  image_tokens_max: tokens("Tokens of one image at its highest quality and size, for the hold."),
  price: Type.Optional(priceSchema),
  price_checked: text(
    "The day on which the price was last compared with the provider's list, as 2026-10-31.",
    {
      pattern: "^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])$",
      [expectedText]: "a day such as 2026-10-31",
    },
  ),
  allow: list(
    name,
    "Fields that clients can send although Sluice does not know their cost, such as OpenRouter's provider and route, and tools without a price, such as tools.x_search.",
  ),
  capabilities: Type.Optional(capabilitiesSchema),
  cache: choice(
    ["auto", "none"],
    "Claude, asked by clients of OpenAI's dialects: whether conversations with tools are marked for its cache.",
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
      { description: "Records at most this of request content; needs [content]." },
    ),
  ),
  timeouts: modelTimeouts,
});

/** What a model says by itself. The rest is put together with what its provider says (models.ts). */
export const ownModelSchema = Type.Omit(modelSchema, [
  "provider",
  "upstream_model",
  "family",
  "dialect",
  "max_tokens_field",
  "deployments",
  "price",
  "timeouts",
]);

export const ownDeploymentSchema = Type.Pick(deploymentSchema, ["priority", "weight", "max_concurrent"]);

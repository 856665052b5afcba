import { type TOptional, Type } from "@sinclair/typebox";
import {
  type VendorOptionName,
  vendorOption,
  vendorOptionNames,
  type vendorOptions,
} from "../../vendors/options.ts";
import { vendorKinds } from "../../vendors/registry.ts";
import { closed, dialect, maxTokensField, secret, timeoutsSchema } from "./parts.ts";

// The cast holds because each schema is the one of its name.
const optionSchemas = Object.fromEntries(
  vendorOptionNames.map((name) => [name, Type.Optional(vendorOption(name).schema)]),
) as unknown as { [Name in VendorOptionName]: TOptional<(typeof vendorOptions)[Name]["schema"]> };

export const providerSchema = Type.Object(
  {
    kind: Type.Union(
      vendorKinds.map((kind) => Type.Literal(kind)),
      { description: "Whose API it is: addresses, credentials and dialects follow from it." },
    ),
    api_key: Type.Optional(
      Type.Union([secret, Type.Array(secret, { minItems: 1 })], {
        description: "A secret, written `env:NAME` or `file:/path`, or several, one for each conversation.",
      }),
    ),
    base_url: Type.Optional(
      Type.String({
        pattern: "^https?://",
        description: "As the vendor's own SDK takes it: OpenAI kinds with /v1, Anthropic without.",
      }),
    ),
    dialects: Type.Optional(
      Type.Array(dialect, {
        minItems: 1,
        uniqueItems: true,
        description: "What the provider speaks by itself.",
      }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: "Sent with every request; values may be secrets.",
      }),
    ),
    stream_usage: Type.Optional(
      Type.Boolean({
        default: true,
        description: "Whether chat streams understand `stream_options.include_usage`.",
      }),
    ),
    count_tokens: Type.Optional(
      Type.Boolean({
        description: "Whether it counts tokens, in the dialects that can ask for it; default: by the kind.",
      }),
    ),
    rate_limit_headers: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Whether clients see its rate-limit headers, in the names of their own dialect. They tell of your account.",
      }),
    ),
    max_tokens_field: Type.Optional(maxTokensField),
    max_concurrent: Type.Optional(
      Type.Integer({ minimum: 1, description: "Calls at once; some more wait. Default: no limit." }),
    ),
    timeouts: Type.Optional(timeoutsSchema),
    ...optionSchemas,
  },
  closed,
);

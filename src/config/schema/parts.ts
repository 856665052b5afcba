import { Type } from "@sinclair/typebox";
import { providerDialectNames } from "../../dialects/registry.ts";
import { defaults } from "../defaults.ts";

/** Unknown names are errors everywhere. */
export const closed = { additionalProperties: false } as const;

export const seconds = (description: string, fallback: number) =>
  Type.Number({ description, minimum: 0, maximum: 86_400, default: fallback });

export const dialect = Type.Union(providerDialectNames.map((name) => Type.Literal(name)));

export const secret = Type.String({
  minLength: 1,
  description: "A secret, written `env:NAME` or `file:/path`; never the secret itself.",
});

export const timeoutsSchema = Type.Object(
  {
    connect: Type.Optional(
      seconds("Until the provider has accepted the connection.", defaults.timeouts.connect),
    ),
    first_byte: Type.Optional(
      seconds("Until the provider's first byte, for whole responses.", defaults.timeouts.firstByte),
    ),
    stream_first_byte: Type.Optional(
      seconds("Until the provider's first byte, for streams.", defaults.timeouts.streamFirstByte),
    ),
    gap: Type.Optional(seconds("The longest silence within a stream.", defaults.timeouts.gap)),
    total: Type.Optional(
      seconds("The whole exchange; streams never outlive 5 minutes.", defaults.timeouts.total),
    ),
  },
  closed,
);

export const maxTokensField = Type.Union(
  [Type.Literal("max_tokens"), Type.Literal("max_completion_tokens")],
  {
    description: "How a translated chat request names its output limit.",
  },
);

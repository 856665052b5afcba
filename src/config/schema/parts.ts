import { Type } from "@sinclair/typebox";
import { providerDialectNames } from "../../dialects/registry.ts";
import { defaults } from "../defaults.ts";
import type { Duration } from "../duration.ts";
import { duration } from "./duration.ts";

/** Unknown names are errors everywhere. */
export const closed = { additionalProperties: false } as const;

export const dialect = Type.Union(providerDialectNames.map((name) => Type.Literal(name)));

export const secret = Type.String({
  minLength: 1,
  description: "A secret, written `env:NAME` or `file:/path`; never the secret itself.",
});

const timeouts = {
  connect: Type.Optional(
    duration("Until the provider has accepted the connection.", defaults.timeouts.connect),
  ),
  first_byte: Type.Optional(
    duration(
      "Until the provider's first byte, for whole responses; default: as long as the exchange may take.",
      undefined,
    ),
  ),
  stream_first_byte: Type.Optional(
    duration("Until the provider's first byte, for streams.", defaults.timeouts.streamFirstByte),
  ),
  gap: Type.Optional(duration("The longest silence within a stream.", defaults.timeouts.gap)),
  total: Type.Optional(
    duration("A call from its beginning to its end; default: as long as the exchange may take.", undefined),
  ),
};

export const timeoutsSchema = Type.Object(timeouts, closed);

/** How long an exchange may take. An hour is enough for any answer, and bounds a stuck one. */
export const exchangeLimit = (description: string, fallback?: Duration) =>
  duration(description, fallback, { exclusiveMinimum: 0, maximum: 3600 });

export const modelTimeoutsSchema = Type.Object(
  {
    ...timeouts,
    exchange: Type.Optional(exchangeLimit("In place of server.max_exchange, for this model.")),
  },
  closed,
);

export const maxTokensField = Type.Union(
  [Type.Literal("max_tokens"), Type.Literal("max_completion_tokens")],
  {
    description: "How a translated chat request names its output limit.",
  },
);

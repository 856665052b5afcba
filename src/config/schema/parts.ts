import {
  type IntegerOptions,
  type StringOptions,
  type TProperties,
  type TSchema,
  Type,
} from "@sinclair/typebox";
import { providerDialectNames } from "../../dialects/registry.ts";
import { defaults } from "../defaults.ts";
import type { Duration } from "../duration.ts";
import { duration } from "./duration.ts";

/** Unknown names are errors everywhere. */
export const closed = { additionalProperties: false } as const;

export const table = <Fields extends TProperties>(fields: Fields) => Type.Object(fields, closed);

/** A table that may be left out, as may each field that is made by a function below. */
export const section = <Fields extends TProperties>(fields: Fields) => Type.Optional(table(fields));

export const text = (description: string, options: StringOptions = {}) =>
  Type.Optional(Type.String({ ...options, description }));

export const named = (description: string) => text(description, { minLength: 1 });

export const whole = (description: string, options: IntegerOptions) =>
  Type.Optional(Type.Integer({ ...options, description }));

export const flag = (description: string, byDefault?: boolean) =>
  Type.Optional(Type.Boolean({ ...(byDefault === undefined ? {} : { default: byDefault }), description }));

export const choice = <const Names extends readonly string[]>(
  names: Names,
  description: string,
  byDefault: Names[number],
) =>
  Type.Optional(
    Type.Union(
      names.map((name: Names[number]) => Type.Literal(name)),
      { default: byDefault, description },
    ),
  );

export const list = <Item extends TSchema>(item: Item, description: string) =>
  Type.Optional(Type.Array(item, { description }));

export const time = (...described: Parameters<typeof duration>) => Type.Optional(duration(...described));

export const name = Type.String({ minLength: 1 });

export const dialect = Type.Union(providerDialectNames.map((each) => Type.Literal(each)));

export const secret = Type.String({
  minLength: 1,
  description: "A secret, written `env:NAME` or `file:/path`; never the secret itself.",
});

const timeouts = {
  connect: time("Until the provider has accepted the connection.", defaults.timeouts.connect),
  first_byte: time(
    "Until the provider's first byte, for non-streaming responses; default: no limit but `server.request_timeout`.",
  ),
  stream_first_byte: time("Until the provider's first byte, for streams.", defaults.timeouts.streamFirstByte),
  idle: time("The longest silence within a stream.", defaults.timeouts.idle),
  total: time("One call from start to end; default: no limit but `server.request_timeout`."),
};

export const timeoutsSchema = table(timeouts);

/** An hour is enough for any response, and limits a stuck one. */
export const requestTimeout = (description: string, fallback?: Duration) =>
  time(description, fallback, { exclusiveMinimum: 0, maximum: 3600 });

export const modelTimeouts = section({
  ...timeouts,
  request: requestTimeout("Replaces server.request_timeout for this model."),
});

export const maxTokensField = Type.Optional(
  Type.Union([Type.Literal("max_tokens"), Type.Literal("max_completion_tokens")], {
    description: "How a translated chat request names its output limit.",
  }),
);

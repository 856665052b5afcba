import {
  type IntegerOptions,
  type NumberOptions,
  type StringOptions,
  type TBoolean,
  type TOptional,
  type TProperties,
  type TSchema,
  Type,
} from "@sinclair/typebox";
import { providerDialectNames } from "../../dialects/registry.ts";
import type { Duration } from "../duration.ts";
import { duration } from "./duration.ts";
import { isSection, marked, secrecy, type WithDefault } from "./marks.ts";

/** Unknown names are errors everywhere. */
export const closed = { additionalProperties: false } as const;

export const table = <Fields extends TProperties>(fields: Fields) => Type.Object(fields, closed);

/** An optional table; each field that a function below creates is optional too. */
export const section = <Fields extends TProperties>(fields: Fields) =>
  Type.Optional(marked(table(fields), { [isSection]: true }));

export const text = <const Options extends StringOptions>(description: string, options?: Options) =>
  withDefault(Type.Optional(Type.String({ ...options, description })), options);

export const named = (description: string) => text(description, { minLength: 1 });

export const whole = <const Options extends IntegerOptions>(description: string, options: Options) =>
  withDefault(Type.Optional(Type.Integer({ ...options, description })), options);

export const fraction = <const Options extends NumberOptions>(description: string, options: Options) =>
  withDefault(Type.Optional(Type.Number({ ...options, description })), options);

export const flag = <const Default extends boolean | undefined = undefined>(
  description: string,
  byDefault?: Default,
) => {
  const options = byDefault === undefined ? {} : { default: byDefault };
  return Type.Optional(Type.Boolean({ ...options, description })) as TOptional<TBoolean> &
    WithDefault<Default>;
};

export const choice = <const Names extends readonly string[], const Default extends Names[number]>(
  names: Names,
  description: string,
  byDefault: Default,
) => {
  const options = { default: byDefault, description };
  return withDefault(
    Type.Optional(
      Type.Union(
        names.map((name: Names[number]) => Type.Literal(name)),
        options,
      ),
    ),
    options,
  );
};

/** The options have been written into the schema; its type does not show whether a default is among them. */
export function withDefault<Schema extends TSchema, Options extends object>(
  schema: Schema,
  _: Options | undefined,
) {
  return schema as Schema &
    (Options extends { readonly default: infer Default } ? WithDefault<Default> : unknown);
}

export const list = <Item extends TSchema>(item: Item, description: string) =>
  Type.Optional(Type.Array(item, { description }));

export const headers = (description: string) =>
  marked(Type.Optional(Type.Record(Type.String(), Type.String(), { description })), { [secrecy]: "headers" });

export const time = <const Fallback extends Duration | undefined = undefined>(
  ...described: Parameters<typeof duration<Fallback>>
) => Type.Optional(duration(...described));

export const name = Type.String({ minLength: 1 });

export const dialect = Type.Union(providerDialectNames.map((each) => Type.Literal(each)));

const reference = Type.String({
  minLength: 1,
  description: "A secret, written `env:NAME` or `file:/path`; never the secret itself.",
});

export const secret = marked(reference, { [secrecy]: "secret" });

/** 32 bytes in base64. */
export const encryptionKey = marked(reference, { [secrecy]: "key" });

const timeouts = {
  connect: time("Time until the provider accepts the connection.", 10),
  first_byte: time(
    "Time to the provider's first byte, for non-streaming responses; default: no limit but `server.request_timeout`.",
  ),
  stream_first_byte: time("Time to the provider's first byte, for streams.", 120),
  idle: time("The longest silence within a stream.", 120),
  total: time("Duration of one call; default: no limit but `server.request_timeout`."),
};

export const timeoutsSchema = table(timeouts);

/** An hour is enough for any response, and limits a stuck one. */
export const requestTimeout = <const Fallback extends Duration | undefined = undefined>(
  description: string,
  fallback?: Fallback,
) => time(description, fallback, { exclusiveMinimum: 0, maximum: 3600 });

export const modelTimeouts = Type.Optional(
  table({ ...timeouts, request: requestTimeout("Replaces server.request_timeout for this model.") }),
);

export const maxTokensField = Type.Optional(
  Type.Union([Type.Literal("max_tokens"), Type.Literal("max_completion_tokens")], {
    description: "How a translated chat request names its output limit.",
  }),
);

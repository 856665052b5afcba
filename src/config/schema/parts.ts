import {
  type IntegerOptions,
  Kind,
  type NumberOptions,
  type StringOptions,
  type TBoolean,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
import { expectedText } from "../../base/text/schema-text.ts";
import { providerDialectNames } from "../../dialects/registry.ts";
import { type Duration, durationPattern, durationText, parseDuration } from "../duration.ts";
import { isSection, marked, secrecy, unit, type WithDefault } from "./marks.ts";

const kind = "Duration";

const aDay: Bounds = { minimum: 0, maximum: 86_400 };

TypeRegistry.Set<{ readonly anyOf: readonly [Bounds] }>(kind, ({ anyOf: [bounds] }, value) => {
  if (typeof value !== "number" && typeof value !== "string") return false;
  const ms = parseDuration(value);
  return ms !== null && isWithin(ms / 1000, bounds);
});

/** Unknown names are errors everywhere. */
export const closed = { additionalProperties: false } as const;

export const table = <Fields extends TProperties>(fields: Fields) => Type.Object(fields, closed);

/** An optional table; each field that a function below creates is optional too. */
export const section = <Fields extends TProperties>(fields: Fields) =>
  Type.Optional(marked(table(fields), { [isSection]: true }));

export const text = <const Options extends StringOptions>(description: string, options?: Options) =>
  withDefault(Type.Optional(Type.String({ ...options, description })), options);

/** A day in UTC. */
export const day = (description: string) =>
  text(description, {
    pattern: "^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])$",
    [expectedText]: "a day such as 2026-10-31",
  });

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

/** A reference to a secret, with what the secret is. */
export const secretThat = (is: string) =>
  marked(
    Type.String({ minLength: 1, description: `${is}; a secret, written \`env:NAME\` or \`file:/path\`.` }),
    {
      [secrecy]: "secret",
    },
  );

/** 32 bytes in base64. */
export const encryptionKey = marked(
  Type.String({
    minLength: 1,
    description:
      "Encrypts stored responses: 32 bytes in base64; a secret, written `env:NAME` or `file:/path`.",
  }),
  { [secrecy]: "key" },
);

const timeouts = {
  connect: time("Time until the provider accepts the connection.", 10),
  first_byte: time(
    "Time to the provider's first byte, for non-streaming responses; default: no limit but `server.request_timeout`.",
  ),
  stream_first_byte: time(
    "Time to the provider's first byte, for streams; at a private address by default no limit but `server.request_timeout`.",
    120,
  ),
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

/** Bounds in seconds, as in JSON Schema. */
interface Bounds {
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum: number;
}

function isWithin(seconds: number, { minimum = 0, exclusiveMinimum = -1, maximum }: Bounds): boolean {
  return seconds >= minimum && seconds > exclusiveMinimum && seconds <= maximum;
}

/** The bounds apply to strings too. JSON Schema cannot express that, so a custom kind checks it. */
function duration<const Fallback extends Duration | undefined = undefined>(
  description: string,
  fallback?: Fallback,
  bounds: Bounds = aDay,
) {
  const schema = Type.Unsafe<Duration>({
    [Kind]: kind,
    [unit]: "ms",
    description,
    anyOf: [
      { type: "number", ...bounds },
      { type: "string", pattern: durationPattern },
    ],
    [expectedText]: `a number of seconds, or a duration such as "90s", "5m" or "1h", ${boundsText(bounds)}`,
    ...(fallback === undefined ? {} : { default: fallback }),
  });
  // The cast holds because the unit and the default are written above.
  return schema as TUnsafe<Duration> & { readonly [unit]: "ms" } & WithDefault<Fallback>;
}

function boundsText({ minimum = 0, exclusiveMinimum, maximum }: Bounds): string {
  const minimumText = exclusiveMinimum === undefined ? `from ${minimum}s` : `above ${exclusiveMinimum}s`;
  return `${minimumText} to ${durationText(maximum * 1000)}`;
}

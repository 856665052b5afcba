import { type TSchema, Type } from "@sinclair/typebox";

/**
 * Parts that the dialects' schemas share. The schemas are used for three things: validating a request, the error
 * message, and `/openapi.json`. The latter two show a `description`, so it is written as advice to the client's author.
 */

/** Fields that also take `null` for missing. `/openapi.json` does not advertise it: clients should leave fields out. */
const nullIsMissing = new WeakSet<object>();

/** A field that may be missing. `null` counts as missing: several clients send it for what they do not set. */
export function optional<Schema extends TSchema>(schema: Schema) {
  const field = Type.Optional(Type.Union([schema, Type.Null()]));
  nullIsMissing.add(field);
  return field;
}

/** The schema of a field's value, if it is not missing. */
export function valueSchema(field: TSchema): TSchema {
  // `optional` has put the value's schema first.
  return nullIsMissing.has(field) ? (field["anyOf"][0] as TSchema) : field;
}

/** Objects are open by default: unknown fields pass through. */
export const anyObject = Type.Object({});

export const arrayOfObjects = Type.Array(anyObject);

export const stringOrObject = Type.Union([Type.String(), anyObject]);

/** Above 2^53 a double loses precision, so such a number is rejected instead of changed. */
export function positiveInteger(options: { description: string; default?: number }) {
  return Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, ...options });
}

export const anyInteger = Type.Integer({
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
});

/** A number of tokens in a response. */
export const tokenCount = Type.Integer({ minimum: 0 });

export const modelName = Type.String({
  minLength: 1,
  description: "Exact id from the authenticated model list.",
});

export const streamFlag = Type.Boolean({
  default: false,
  description: "Set to true for server-sent events.",
});

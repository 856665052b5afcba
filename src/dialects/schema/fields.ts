import { Type } from "@sinclair/typebox";

/**
 * The shapes that the three dialects' schemas share. The schemas are the one source of three things: the
 * check of a request, the words of its refusal, and `/openapi.json`. A `description` is shown in both of
 * the latter, so it is written as advice to whoever sends the field.
 */

/** Objects are open unless they say otherwise: a field that is not known here passes through. */
export const anyObject = Type.Object({});

export const arrayOfObjects = Type.Array(anyObject);

export const stringOrObject = Type.Union([Type.String(), anyObject]);

/** Above 2^53 a double no longer holds what was sent, so such a number is refused instead of changed. */
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

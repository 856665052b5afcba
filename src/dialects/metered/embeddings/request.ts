import { Type } from "@sinclair/typebox";
import { invalidRequest } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import { modelName, optional } from "../../schema/fields.ts";
import { listed, textsOrTokenIds } from "../texts.ts";

/** OpenAI's request. Servers such as vLLM also take `messages`, for images. */
export const embeddingRequest = Type.Object({
  model: modelName,
  input: optional(textsOrTokenIds),
  encoding_format: optional(
    Type.Union([Type.Literal("float"), Type.Literal("base64")], {
      description: "`float` (default) or `base64` (little-endian float32).",
    }),
  ),
  dimensions: optional(Type.Integer({ minimum: 1 })),
  user: optional(Type.String()),
});

export const embeddingResponse = Type.Object({
  object: Type.Literal("list"),
  data: Type.Array(
    Type.Object({
      object: Type.Literal("embedding"),
      index: Type.Integer({ minimum: 0 }),
      embedding: Type.Union([Type.Array(Type.Number()), Type.String()]),
    }),
  ),
  model: Type.String(),
  usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
});

/** The inputs of a valid request: texts, or ids of tokens. None where it has `messages` instead. */
export function inputsOf({ input }: JsonObject): readonly (string | readonly number[])[] {
  return input == null ? [] : listed(input);
}

export function textsOf(body: JsonObject): readonly string[] {
  return inputsOf(body).filter((input) => typeof input === "string");
}

export function tokenIdsOf(body: JsonObject): readonly (readonly number[])[] {
  return inputsOf(body).filter((input) => typeof input !== "string");
}

export function dimensionsOf({ dimensions }: JsonObject): number | null {
  return typeof dimensions === "number" ? dimensions : null;
}

/** Throws unless the requested dimensions are among the allowed ones. */
export function rejectDimensions(body: JsonObject, model: string, allowed: readonly number[] = []): void {
  const dimensions = dimensionsOf(body);
  if (dimensions === null || allowed.includes(dimensions)) return;
  const advice = allowed.length === 0 ? "Remove it" : `Send ${allowed.join(", ")}`;
  const message = `\`dimensions: ${dimensions}\` is not available for model "${model}". ${advice}.`;
  throw invalidRequest(message, "dimensions");
}

/** The purpose of the vectors, which Cohere requires. */
export function inputTypeOf({ input_type: type }: JsonObject): string {
  return typeof type === "string" ? type : "search_document";
}

/** Drops fields that the written body cannot express and that may safely be missing. */
export function dropOthers(body: JsonObject, written: readonly string[], dropped: Set<string>): void {
  if (body["messages"] != null) {
    throw invalidRequest("This model's provider embeds only text. Send `input`.", "messages");
  }
  const known = ["model", "input", "encoding_format", "dimensions", ...written];
  for (const name of Object.keys(body)) if (!known.includes(name)) dropped.add(name);
}

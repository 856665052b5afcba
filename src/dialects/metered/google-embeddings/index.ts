import { GatewayError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import { totalInput } from "../../../base/usage/usage.ts";
import { embeddings } from "../embeddings/index.ts";
import { embeddingRequest } from "../embeddings/request.ts";
import { floatsOf, type Vector } from "../embeddings/vectors.ts";
import type { FormatTarget, MeteredFormat, MeteredRoute } from "../route.ts";
import { asEmbeddings, type GoogleForm, splitForm, withForm, withoutForm } from "./request.ts";

/** Google's embedContent and batchEmbedContents: the embeddings of OpenAI's form, read and written in Google's. */
export const googleEmbeddings: MeteredRoute = {
  ...embeddings,
  paths: [],
  inPath: { dialect: "gemini", addTo: asEmbeddings },
  requestSchema: embeddingRequest,
  formats: Object.fromEntries(
    Object.entries(embeddings.formats).map(([name, format]) => [name, inGooglesForm(format)]),
  ),
  split(body, max) {
    const { plain, form } = splitForm(body);
    const parts = embeddings.split?.(plain, max) ?? [plain];
    return parts.map((part, place) =>
      withForm(part, { ...form, options: form.options.slice(place * max, (place + 1) * max) }),
    );
  },
  writeEnd: (usage) => `,"usageMetadata":{"promptTokenCount":${totalInput(usage)}}}`,
};

function inGooglesForm({ pass: _, ...format }: MeteredFormat): MeteredFormat {
  const { write, changes, read } = format;
  return {
    ...format,
    ...(write === undefined
      ? { changes: (body, target, dropped) => changesOf(changes, body, target, dropped) }
      : { write: (body, target, dropped) => written(format, write, body, target, dropped) }),
    ...(read === undefined
      ? {}
      : {
          read: (answers, requested) => {
            const { plain: body, form } = splitForm(requested.body);
            return read(answers, { ...requested, body, writeVectors: (vectors) => listed(vectors, form) });
          },
        }),
  };
}

function changesOf(
  changes: MeteredFormat["changes"],
  body: JsonObject,
  target: FormatTarget,
  dropped: Set<string>,
): ReturnType<NonNullable<MeteredFormat["changes"]>> {
  const { plain, form } = splitForm(body);
  dropOptions(form, dropped);
  return { ...changes?.(plain, target, dropped), ...withoutForm };
}

function written(
  { addOptions }: MeteredFormat,
  write: NonNullable<MeteredFormat["write"]>,
  body: JsonObject,
  target: FormatTarget,
  dropped: Set<string>,
): JsonObject {
  const { plain, form } = splitForm(body);
  if (addOptions === undefined) dropOptions(form, dropped);
  try {
    const own = write(plain, target, dropped);
    return addOptions?.(own, form.options, (name) => dropped.add(nameOf(name, form))) ?? own;
  } catch (error) {
    throw inGooglesNames(error);
  }
}

function dropOptions(form: GoogleForm, dropped: Set<string>): void {
  for (const name of form.options.flatMap(Object.keys)) dropped.add(nameOf(name, form));
}

function nameOf(name: string, { isList }: GoogleForm): string {
  return isList ? `requests[].${name}` : name;
}

/** The client's name for what OpenAI calls `dimensions`. */
function inGooglesNames(error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.param !== "dimensions") return error;
  const message = error.message.replaceAll("`dimensions", "`outputDimensionality");
  return new GatewayError(error.code, message, { param: "outputDimensionality" });
}

/** An answer up to its usage. */
function listed(vectors: readonly Vector[], { isList }: GoogleForm): string {
  const values = vectors.map((vector) => `{"values":${JSON.stringify(floatsOf(vector))}}`);
  return isList ? `{"embeddings":[${values.join(",")}]` : `{"embedding":${values[0]}`;
}

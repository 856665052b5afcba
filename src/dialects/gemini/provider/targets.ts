import type { DialectPaths, TargetedRequest } from "../../contract/provider-dialect.ts";

/** The method is a suffix of the model's path. Without `alt=sse` a stream would be one JSON list, sent in pieces. */
export const paths: DialectPaths = {
  generate: (request) =>
    modelPath(request) + (request.stream ? ":streamGenerateContent?alt=sse" : ":generateContent"),
  countTokens: (request) => `${modelPath(request)}:countTokens`,
  metered: (request) => `${modelPath(request)}:${request.method}`,
};

/** A name may include its collection, as the names of tuned models do. */
export function modelName(model: string): string {
  return /^(?:models|tunedModels)\//.test(model) ? model : `models/${model}`;
}

function modelPath({ model }: TargetedRequest): string {
  const name = modelName(model);
  const slash = name.indexOf("/");
  return `/${name.slice(0, slash)}/${encodeURIComponent(name.slice(slash + 1))}`;
}

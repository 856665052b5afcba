/** Converse is the same for all models, except for some models' own fields. The family is recognized by the model's name. */
export type ModelFamily = "claude" | "nova" | "gpt-oss" | "mistral" | "other";

const families: readonly (readonly [RegExp, ModelFamily])[] = [
  [/claude/, "claude"],
  [/nova/, "nova"],
  [/gpt-oss/, "gpt-oss"],
  [/mistral|magistral|ministral|pixtral|devstral/, "mistral"],
];

export function familyOf(model: string): ModelFamily {
  return families.find(([name]) => name.test(model))?.[1] ?? "other";
}

export function takesCachePoints(family: ModelFamily): boolean {
  return family === "claude" || family === "nova";
}

/** The other models return 400 for a choice that forces a call. */
export function canBeForced(family: ModelFamily): boolean {
  return family === "claude" || family === "nova" || family === "mistral";
}

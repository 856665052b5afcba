import type { ModelUse } from "../../base/models/model-uses.ts";
import { completions, fimCompletions } from "./completions/index.ts";
import { embeddings } from "./embeddings/index.ts";
import { googleEmbeddings } from "./google-embeddings/index.ts";
import { imageEdits, imageGenerations } from "./images/index.ts";
import { moderations } from "./moderations/index.ts";
import { rerank } from "./rerank/index.ts";
import type { MeteredRoute } from "./route.ts";
import { speech } from "./speech/index.ts";
import { transcriptions, translations } from "./transcriptions/index.ts";

/** All metered routes, by the names of the request bodies that they are validated as. */
const routes = {
  embeddings,
  google_embeddings: googleEmbeddings,
  moderations,
  rerank,
  completions,
  fim_completions: fimCompletions,
  image_generations: imageGenerations,
  image_edits: imageEdits,
  speech,
  transcriptions,
  translations,
} as const satisfies Readonly<Record<string, MeteredRoute>>;

export type MeteredRouteName = keyof typeof routes;

// The cast holds because the type is computed from the same object.
export const meteredRouteNames = Object.keys(routes) as readonly MeteredRouteName[];

export function meteredRoute(name: MeteredRouteName): MeteredRoute {
  return routes[name];
}

/** The routes that a model with these uses serves. Generation has none of them. */
export function routesFor(uses: readonly ModelUse[]): readonly MeteredRoute[] {
  return meteredRouteNames.map(meteredRoute).filter(({ use }) => uses.includes(use));
}

/** Whether requests of a route cost something, so that its models need a price. Moderations do not. */
export function isCharged({ prices }: Pick<MeteredRoute, "prices">): boolean {
  return prices.length > 0;
}

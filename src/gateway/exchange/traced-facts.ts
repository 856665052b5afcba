import { isObject, type JsonObject } from "../../base/json.ts";
import type { KeyMode } from "../../base/key-attributes.ts";
import { nanoPerCredit } from "../../base/money/money.ts";
import { spellings } from "../../base/proto-json.ts";
import { readLabels } from "../../base/requests/labels.ts";
import type { RequestParameters, TracedFacts } from "../../observe/exchange.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { genAiProviderName } from "../../vendors/registry.ts";
import type { ActiveConfig } from "../active-config.ts";

const noParameters: RequestParameters = {};

/** The part of an exchange that its span describes. */
interface TracedExchange {
  readonly attempts: { readonly deployment: Deployment | null };
  readonly labels: string | null;
  readonly parameters: RequestParameters | null;
  readonly key: { readonly mode: KeyMode } | null;
  /** Null before it was charged. */
  readonly charge: { readonly listCostNano: number | null } | null;
  readonly charged: number;
  readonly configured: ActiveConfig;
}

/** The facts that only a span has. Called only for traced requests. */
export function tracedFacts(exchange: TracedExchange): TracedFacts {
  const { deployment } = exchange.attempts;
  const { session, user } = readLabels(exchange.labels);
  return {
    genAiProvider: deployment === null ? null : genAiProviderName(deployment.provider.settings),
    upstreamModel: deployment?.shownModel ?? null,
    session,
    user,
    costUsd: costUsdOf(exchange),
    parameters: exchange.parameters ?? noParameters,
  };
}

/** A request of a token budget costs what it would have at the list price. */
function costUsdOf({ charge, charged, key, configured }: TracedExchange): number | null {
  if (charge === null) return null;
  const nano = key?.mode === "token_budget" ? charge.listCostNano : charged;
  return nano === null ? null : (nano / nanoPerCredit) * (configured.settings.microUsdPerCredit / 1_000_000);
}

/** The conventions' names, and the members of a request in any of the formats. */
const parameterNames: readonly (readonly [attribute: string, ...members: string[]])[] = [
  [
    "gen_ai.request.max_tokens",
    ...["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"],
  ],
  ["gen_ai.request.temperature", "temperature"],
  ["gen_ai.request.top_p", "top_p", "topP"],
  ["gen_ai.request.top_k", "top_k", "topK"],
  ["gen_ai.request.frequency_penalty", "frequency_penalty", "frequencyPenalty"],
  ["gen_ai.request.presence_penalty", "presence_penalty", "presencePenalty"],
  ["gen_ai.request.seed", "seed"],
  ["gen_ai.request.choice.count", "n", "candidateCount", "candidate_count"],
];

/** Where some formats have them. */
const parameterPlaces = spellings(["generationConfig"]);

/** Leaves out texts: they may be content. */
export function requestParameters(body: JsonObject): RequestParameters {
  const parameters: Record<string, number> = {};
  const places = [body, ...parameterPlaces.map((place) => body[place]).filter(isObject)];
  for (const [attribute, ...members] of parameterNames) {
    const value = places
      .flatMap((place) => members.map((member) => place[member]))
      .find((found) => typeof found === "number");
    if (value !== undefined) parameters[attribute] = value;
  }
  return parameters;
}

import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import type { KeyMode } from "../../base/key-attributes.ts";
import { nanoPerCredit } from "../../base/money/money.ts";
import { fieldOf, spellings } from "../../base/proto-json.ts";
import { readLabels } from "../../base/requests/labels.ts";
import { type ExtraUsage, totalInput, type Usage } from "../../base/usage/usage.ts";
import { objectOf } from "../../dialects/json/json-fields.ts";
import type {
  ModalityTokens,
  RequestParameters,
  TokensByModality,
  TracedFacts,
} from "../../observe/exchange.ts";
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
  readonly charge: {
    readonly usage: Usage;
    readonly extras: ExtraUsage | null;
    readonly listCostNano: number | null;
  } | null;
  readonly charged: number;
  readonly configured: ActiveConfig;
}

/** The facts that only a span has. Called only for traced requests. */
export function tracedFacts(exchange: TracedExchange): TracedFacts {
  const { attempts, charge } = exchange;
  const { deployment } = attempts;
  const { session, user } = readLabels(exchange.labels);
  return {
    genAiProvider: deployment === null ? null : genAiProviderName(deployment.provider.settings),
    server: deployment === null ? null : serverAt(deployment.provider.settings.baseUrl),
    upstreamModel: deployment?.shownModel ?? null,
    session,
    user,
    costUsd: costUsdOf(exchange),
    parameters: exchange.parameters ?? noParameters,
    isCompacted: charge?.usage.rounds?.some(({ model }) => model === null) ?? false,
    byModality: charge === null ? null : tokensByModality(charge.usage, charge.extras),
  };
}

function serverAt(baseUrl: string): TracedFacts["server"] {
  const url = URL.parse(baseUrl);
  if (url === null || url.hostname === "") return null;
  return { address: url.hostname, port: Number(url.port) || (url.protocol === "http:" ? 80 : 443) };
}

/** Null if all of them may be text. */
function tokensByModality(usage: Usage, extras: ExtraUsage | null): TokensByModality | null {
  if (extras === null) return null;
  const { audioInputTokens, audioOutputTokens, imageInputTokens = 0, imageOutputTokens = 0 } = extras;
  const { cachedAudioInputTokens: cachedAudio = 0, cachedImageInputTokens: cachedImage = 0 } = extras;
  const input = modalities(totalInput(usage), audioInputTokens + cachedAudio, imageInputTokens + cachedImage);
  const output = modalities(usage.outputTokens, audioOutputTokens, imageOutputTokens);
  const isText = input.audio + input.image + output.audio + output.image === 0;
  if (isText) return null;
  return { input, cachedInput: modalities(usage.cachedInputTokens, cachedAudio, cachedImage), output };
}

function modalities(all: number, audio: number, image: number): ModalityTokens {
  return { text: Math.max(0, all - audio - image), audio, image };
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

/** Efforts of all formats. Other texts may be content. */
const reasoningLevel = /^(?:none|minimal|low|medium|high|xhigh|max)$/i;

/** Where the formats have the effort: chat, Responses, Messages. */
function effortIn({
  reasoning_effort: effort,
  reasoning,
  output_config: output,
}: JsonObject): Json | undefined {
  return effort ?? objectOf(reasoning)?.["effort"] ?? objectOf(output)?.["effort"];
}

function googleEffort(config: Json | undefined): Json | undefined {
  const thinking = objectOf(
    config === undefined ? undefined : fieldOf(objectOf(config) ?? {}, "thinkingConfig"),
  );
  return thinking === null ? undefined : fieldOf(thinking, "thinkingLevel");
}

const responseId = /^[\w.:-]{1,128}$/;

/** Leaves out texts that may be content. */
export function requestParameters(body: JsonObject): RequestParameters {
  const parameters: Record<string, number | string> = {};
  const level = effortIn(body) ?? googleEffort(fieldOf(body, "generationConfig"));
  if (typeof level === "string" && reasoningLevel.test(level))
    parameters["gen_ai.request.reasoning.level"] = level.toLowerCase();
  const { previous_response_id: previous } = body;
  if (typeof previous === "string" && responseId.test(previous))
    parameters["gen_ai.request.previous_response.id"] = previous;
  const places = [body, ...parameterPlaces.map((place) => body[place]).filter(isObject)];
  for (const [attribute, ...members] of parameterNames) {
    const value = places
      .flatMap((place) => members.map((member) => place[member]))
      .find((found) => typeof found === "number");
    if (value !== undefined) parameters[attribute] = value;
  }
  return parameters;
}

import type { DialectName } from "../base/dialect.ts";
import { type GatewayError, invalidRequest } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { ModelSettings } from "../config/settings.ts";
import type { BodyChanges } from "../dialects/json/patch.ts";

const defaultMessagesMaxTokens = 1024;

const maxChoices = 128;

/** What is assumed of a model that publishes neither an output limit nor a context window. */
const assumedMaxOutput = 16_384;

/** No model produces as much; more could not even be added up for the hold. */
const mostOutput = 1_000_000_000;

const chatLimits = ["max_completion_tokens", "max_tokens"] as const;
const responsesLimits = ["max_output_tokens"] as const;
const nothing: BodyChanges = {};

export interface OutputLimit {
  /** The most tokens that the call may produce, all choices together. */
  readonly maxOutputTokens: number;
  /** What must change in the body so that the provider keeps the limit too. */
  readonly changes: BodyChanges;
}

/** Chat and responses refuse more than the model's published limit; messages caps it, and has a default. */
export function limitOutput(dialect: DialectName, body: JsonObject, model: ModelSettings): OutputLimit {
  const published = model.maxOutputTokens;
  if (dialect === "messages") {
    const asked = numberIn(body, "max_tokens");
    const effective = Math.min(asked ?? defaultMessagesMaxTokens, published ?? mostOutput);
    return { maxOutputTokens: effective, changes: effective === asked ? nothing : { max_tokens: effective } };
  }
  let asked: number | null = null;
  for (const name of dialect === "chat" ? chatLimits : responsesLimits) {
    const value = numberIn(body, name);
    if (value === null) continue;
    const most = published ?? mostOutput;
    if (value > most) throw overLimit(name, value, model.id, most);
    asked ??= value;
  }
  const perChoice = asked ?? published ?? model.contextWindow ?? assumedMaxOutput;
  return { maxOutputTokens: perChoice * (dialect === "chat" ? choices(body) : 1), changes: nothing };
}

function overLimit(name: string, value: number, model: string, limit: number): GatewayError {
  return invalidRequest(
    `${name} is ${value}, but ${model} produces at most ${limit} tokens; ask for less.`,
    name,
  );
}

/** Every choice may grow to the limit, and every one is billed. */
function choices(body: JsonObject): number {
  const n = body["n"] ?? 1;
  if (typeof n === "number" && Number.isSafeInteger(n) && n >= 1 && n <= maxChoices) return n;
  throw invalidRequest(`n must be a whole number from 1 to ${maxChoices}.`, "n");
}

function numberIn(body: JsonObject, name: string): number | null {
  const value = body[name];
  return typeof value === "number" ? value : null;
}

export function refuseUnusableTools(body: JsonObject, model: ModelSettings): void {
  const tools = body["tools"];
  if (model.capabilities["tools"] !== false || !Array.isArray(tools) || tools.length === 0) return;
  throw invalidRequest(`${model.id} does not support tools; leave \`tools\` out.`, "tools");
}

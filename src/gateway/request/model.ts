import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { modelPatternForm } from "../../base/models/model-pattern.ts";
import type { ModelUse } from "../../base/models/model-uses.ts";
import { unknownModelMessage } from "../../base/models/unknown-model.ts";
import { nearestNames } from "../../base/text/nearest.ts";
import { attachmentOf } from "../../catalog/attachments.ts";
import { isEntitled } from "../../catalog/catalog.ts";
import { hasImage as hasGoogleImage } from "../../catalog/google-contents.ts";
import type { KeyCounts } from "../../catalog/tokens/counter.ts";
import type { ModelSettings, Settings } from "../../config/settings.ts";
import { type ClientDialectName, clientDialect } from "../../dialects/registry.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";

/** Throws unless the model exists and supports the requested use. */
export function findModel(
  active: ActiveConfig,
  key: KeyRecord,
  modelId: string,
  use: ModelUse = "generation",
): ModelSettings {
  const { catalog, settings } = active;
  const model = catalog.find(modelId) ?? catalog.findUnpriced(modelId);
  if (model === undefined) {
    const message = unknownModelMessage(modelId, namesLike(modelId, active, key, use));
    throw new GatewayError("model_not_found", message, {
      param: "model",
      cause: notServed(modelId, settings),
    });
  }
  if (model.serves.includes(use)) return model;
  const others = catalog.modelsFor(key).filter(({ serves }) => serves.includes(use));
  const named = others.slice(0, maxNamed).map(({ id }) => id);
  const advice = named.length === 0 ? "" : ` Try ${named.map((id) => `"${id}"`).join(" or ")}.`;
  throw invalidRequest(
    `Model "${model.id}" does not support ${use}, only ${model.serves.join(", ")}.${advice}`,
    "model",
  );
}

/** For the log. */
function notServed(id: string, { unpricedModels }: Settings): Error | undefined {
  if (!modelPatternForm.test(id)) return undefined;
  const advice = unpricedModels.advice(id);
  return Object.assign(new Error(advice), { name: "model not served:", code: advice });
}

/**
 * Models that the key can use, with names like this one. Only names with the same beginning are compared: comparing 250
 * names takes up to 10 ms.
 */
function namesLike(id: string, { catalog }: ActiveConfig, key: KeyRecord, use: ModelUse): readonly string[] {
  const isLike = ({ id: own, listed, serves }: ModelSettings) =>
    listed && serves.includes(use) && own.startsWith(id.slice(0, 3));
  const names = catalog
    .modelsFor(key)
    .filter((model) => isLike(model) && (key.mode !== "credit" || isPayable(model)))
    .map((model) => model.id);
  return nearestNames(id, names, maxNamed);
}

/** Maximum number of models that an error suggests. Clients cannot see elsewhere which uses a model serves. */
const maxNamed = 3;

/** Notes the model in the exchange. Throws if the key cannot use it. */
export function permitted({ exchange, key }: AdmittedCall, model: ModelSettings): ModelSettings {
  exchange.model = model;
  // The model may limit what is recorded.
  if (model.content !== null && exchange.taken.content?.narrow(model.content) === false)
    exchange.taken.content = null;
  if (exchange.call.origin.earlier !== null) return model;
  rejectForbidden(exchange.configured, key, model);
  exchange.call.origin.rejectModel(model);
  return model;
}

export function rejectInBatch({ id, batch }: ModelSettings): void {
  if (batch !== "off") return;
  throw invalidRequest(
    `Model "${id}" does not run in batches. Send this request directly, or use another model.`,
    "model",
  );
}

export function rejectForbidden({ catalog }: ActiveConfig, key: KeyRecord, model: ModelSettings): void {
  if (catalog.permits(key, model)) return;
  throw new GatewayError("key_disabled", forbiddenModelMessage(key, model), { param: "model" });
}

function forbiddenModelMessage(key: KeyRecord, model: ModelSettings): string {
  const only = isEntitled(key, model) ? `of the provider "${key.scope}"` : "on its list";
  return `This key cannot use model "${model.id}": it is limited to models ${only}. GET /v1/models lists the models of this key.`;
}

/** Credit keys pay for what they use, so a model without a price must be declared free. */
export function rejectUnpriced(key: KeyRecord, model: ModelSettings): void {
  if (key.mode !== "credit" || isPayable(model)) return;
  throw new GatewayError(
    "key_disabled",
    `Credit keys cannot use model "${model.id}" because it has no price. Ask the operator to set \`price\` or \`free = true\`.`,
    {
      param: "model",
    },
  );
}

/** Whether it is known what a credit key pays for the model, if anything. */
export function isPayable({ free, deployments }: ModelSettings): boolean {
  if (free) return true;
  for (const { price } of deployments) if (price === null) return false;
  return true;
}

/** Rejects what the operator has declared that the model cannot do, before anything is held or sent. */
export function rejectIncapable(
  body: JsonObject,
  { id, capabilities }: Pick<ModelSettings, "id" | "capabilities">,
  dialect: ClientDialectName,
): void {
  const { tools } = body;
  if (capabilities["tools"] === false && hasTools(tools)) {
    throw invalidRequest(`Model "${id}" does not support tools. Remove \`tools\`.`, "tools");
  }
  if (capabilities["vision"] !== false) return;
  const field = clientDialect(dialect).fieldNames.turns;
  if (!hasImage(body[field], deepestImage) && !hasGoogleImage(body, "request")) return;
  throw invalidRequest(
    `Model "${id}" does not support images. Send only text, or use a model with vision.`,
    field,
  );
}

/** Google's may be one without a list. */
function hasTools(tools: Json | undefined): boolean {
  return Array.isArray(tools) ? tools.length > 0 : isObject(tools);
}

/** Messages, the content of one, and the content of a tool's result in that. */
const deepestImage = 3;

function hasImage(blocks: Json | undefined, levelsLeft: number): boolean {
  if (!Array.isArray(blocks) || levelsLeft === 0) return false;
  return blocks.some((block) => isObject(block) && (isImage(block) || hasImageWithin(block, levelsLeft - 1)));
}

function isImage({ type }: JsonObject): boolean {
  return attachmentOf(type) === "image";
}

/** A screenshot is the `output` itself. */
function hasImageWithin({ content, output }: JsonObject, levelsLeft: number): boolean {
  if (isObject(output) && isImage(output)) return true;
  return hasImage(content, levelsLeft) || hasImage(output, levelsLeft);
}

/** Tokenizers differ by this much; what is closer to the window is left to the provider. */
const clearlyOver = 1.1;

/** Rejects input that cannot fit. The cheap estimate is an upper bound: only if it does not fit, the input is counted. */
export async function rejectOverlongInput(
  { contextWindow }: ModelSettings,
  estimatedInput: number,
  bytes: Uint8Array,
  counter: () => Pick<KeyCounts, "request">,
): Promise<void> {
  if (contextWindow === null || estimatedInput <= contextWindow) return;
  // If the tokenizer's thread is too busy to count, its estimate may exceed the upper bound.
  const counted = Math.min(await counter().request(bytes), estimatedInput);
  if (counted <= contextWindow * clearlyOver) return;
  throw new GatewayError(
    "context_length_exceeded",
    `prompt is too long: ${counted} tokens > ${contextWindow} maximum`,
  );
}

import type { JsonObject } from "../../../base/json.ts";
import { tableOf } from "../../../base/table.ts";
import { asksForImageDetail } from "../../ir/image-detail.ts";
import type { IrRequest } from "../../ir/ir.ts";
import type { Target } from "../../provider-dialect.ts";
import { type DroppedFields, refuse } from "../../translation/dropped-fields.ts";
import { jsonOnly } from "../../translation/own-words.ts";
import { type Content, writeContents } from "./contents-out.ts";
import { asksForJsonInWords, writeGenerationConfig } from "./generation-config-out.ts";
import { isGemma, takesLabels, takesServiceTier } from "./model.ts";
import { addTools } from "./tools-out.ts";

/** The model and whether to stream are in the request's target. */
export function writeRequest(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject {
  const system = writeSystem(request, target);
  const contents = writeContents(request.messages, target, dropped);
  // Without a system instruction, or without anything else, the instructions are the user's.
  if (system.length > 0 && (isGemma(target) || contents.length === 0)) prepend(contents, system.splice(0));
  if (contents.length === 0) refuse("messages", "the model's provider needs a user message");
  const body: JsonObject = {};
  if (system.length > 0) body["systemInstruction"] = { parts: system };
  body["contents"] = contents;
  addTools(body, request, target, dropped);
  const config = writeGenerationConfig(request, target, dropped);
  if (Object.keys(config).length > 0) body["generationConfig"] = config;
  addTier(body, request, target, dropped);
  addLabels(body, request, target, dropped);
  dropUnsupported(request, dropped);
  return body;
}

function writeSystem(request: IrRequest, target: Target): JsonObject[] {
  const written: JsonObject[] = [];
  for (const { text } of request.system) if (text !== "") written.push({ text });
  if (asksForJsonInWords(request, target)) written.push({ text: jsonOnly });
  return written;
}

function prepend(contents: Content[], parts: JsonObject[]): void {
  const [first] = contents;
  if (first?.role === "user") first.parts.unshift(...parts);
  else contents.unshift({ role: "user", parts });
}

const tiers = tableOf<string>({ default: "standard", flex: "flex", priority: "priority" });

function addTier(body: JsonObject, request: IrRequest, target: Target, dropped: DroppedFields): void {
  const asked = request.serviceTier;
  if (asked === null || asked === "auto") return;
  const tier = takesServiceTier(target) ? tiers[asked] : undefined;
  if (tier === undefined) dropped.add("service_tier");
  else body["serviceTier"] = tier;
}

function addLabels(body: JsonObject, { metadata }: IrRequest, target: Target, dropped: DroppedFields): void {
  if (metadata === null) return;
  if (takesLabels(target)) body["labels"] = metadata;
  else dropped.add("metadata");
}

function dropUnsupported(request: IrRequest, dropped: DroppedFields): void {
  const { user, safetyIdentifier, promptCacheKey } = request.identity;
  if (user !== null) dropped.add(dropped.names.user);
  if (safetyIdentifier !== null) dropped.add("safety_identifier");
  if (promptCacheKey !== null) dropped.add("prompt_cache_key");
  if (request.verbosity !== null) dropped.add("verbosity");
  if (request.store !== null) dropped.add("store");
  if (asksForImageDetail(request)) dropped.add(dropped.names.imageDetail);
}

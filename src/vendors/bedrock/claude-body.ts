import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { requestFields } from "../../dialects/anthropic-messages/client/fields.ts";
import { type FieldDecisions, reject } from "../../dialects/contract/field-decisions.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import { listOf, objectOf } from "../../dialects/json/json-fields.ts";
import type { MemberChanges } from "../../dialects/json/patch.ts";
import { claudeGeneration } from "../../dialects/target/model-traits.ts";
import { atAnthropicOnly, withoutFields } from "../claude/cloud-fields.ts";
import { conversationChanges } from "../claude/conversation.ts";
import { anthropicVersion, type SortedBetas, sortBetas } from "../claude/headers.ts";
import type { BodyContext } from "../vendor.ts";

/** Fields of Anthropic's API that InvokeModel rejects with 400. */
const unknownFields = {
  ...atAnthropicOnly,
  cache_control: "dropped",
  compaction: requestFields.compaction,
  diagnostics: "dropped",
  fallback_credit_token: "dropped",
  fallbacks: requestFields.fallbacks,
  service_tier: "dropped",
  speed: "dropped",
} as const satisfies FieldDecisions;

export function bedrockBetas(headers: ForwardedHeaders): SortedBetas {
  return sortBetas(
    headers,
    /^(?:tool-search-tool|compact-2026|computer-use-2025|context-1m-2025|context-management-2025|effort-2025|fine-grained-tool-streaming|structured-outputs|interleaved-thinking|output-128k)/,
  );
}

const knownEdits: ReadonlySet<Json | undefined> = new Set(["compact_20260112", "clear_tool_uses_20250919"]);

/** Claude by InvokeModel takes Messages with the API's version in the body, and rejects every member that it does not know. */
export function claudeChanges(
  body: JsonObject,
  { model, headers, options }: BodyContext,
  dropped: Set<string>,
): MemberChanges {
  const without = withoutFields(body, unknownFields, dropped);
  rejectUrls(body["messages"], "messages");
  const generation = claudeGeneration(model);
  const { known: betas } = bedrockBetas(headers);
  return {
    ...without,
    ...conversationChanges(body, generation !== null && generation >= 4.5),
    ...contextManagement(body, dropped),
    // Both are in the request's target.
    model: undefined,
    stream: undefined,
    anthropic_version: options.api_version ?? anthropicVersion(headers, "bedrock-2023-05-31"),
    anthropic_beta: betas.length === 0 ? undefined : betas,
  };
}

/** Bedrock fetches nothing: images and documents have to be in the request. */
function rejectUrls(blocks: Json | undefined, path: string): void {
  for (const [index, block] of listOf(blocks).entries()) {
    if (!isObject(block)) continue;
    const at = `${path}[${index}]`;
    if (objectOf(block["source"])?.["type"] === "url")
      reject(`${at}.source`, "cannot be a URL for this model's provider. Send base64 data");
    rejectUrls(block["content"], `${at}.content`);
  }
}

/** Only some ways of shortening a conversation are known; without the others the response means the same. */
function contextManagement(body: JsonObject, dropped: Set<string>): MemberChanges {
  const management = objectOf(body["context_management"]);
  if (management === null) return {};
  const edits = listOf(management["edits"]).filter((edit) => isObject(edit) && knownEdits.has(edit["type"]));
  if (edits.length < listOf(management["edits"]).length) dropped.add("context_management.edits");
  return { context_management: edits.length === 0 ? undefined : { ...management, edits } };
}

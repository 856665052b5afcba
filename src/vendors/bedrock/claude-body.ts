import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { tableOf } from "../../base/table.ts";
import { requestFields } from "../../dialects/anthropic-messages/client/fields.ts";
import { listOf, objectOf } from "../../dialects/json/json-fields.ts";
import type { MemberChanges } from "../../dialects/json/patch.ts";
import { refuse } from "../../dialects/translation/dropped-fields.ts";
import type { FieldDecisions } from "../../dialects/translation/field-decisions.ts";
import { claudeGeneration } from "../../dialects/translation/model-traits.ts";
import { anthropicVersion } from "../claude/api-version.ts";
import { atAnthropicOnly, withoutFields } from "../claude/cloud-fields.ts";
import { withoutSystemTurns } from "../claude/system-turns.ts";
import type { BodyContext } from "../vendor.ts";

/** What Anthropic's API has, and InvokeModel answers 400 to. */
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

/** Newer names of features that Bedrock has under these. */
const renamedBetas = tableOf<string>({
  "advanced-tool-use-2025-11-20": "tool-search-tool-2025-10-19",
});
const knownBetas =
  /^(?:tool-search-tool|compact-2026|computer-use-2025|context-1m-2025|context-management-2025|effort-2025|fine-grained-tool-streaming|structured-outputs|interleaved-thinking|output-128k)/;

const knownEdits: ReadonlySet<Json | undefined> = new Set(["compact_20260112", "clear_tool_uses_20250919"]);

/** Claude by InvokeModel takes Messages with the API's version in the body, and rejects every member that it does not know. */
export function claudeChanges(
  body: JsonObject,
  { model, headers, options }: BodyContext,
  dropped: Set<string>,
): MemberChanges {
  const without = withoutFields(body, unknownFields, dropped);
  refuseAddresses(body["messages"], "messages");
  const generation = claudeGeneration(model);
  const marks = new CacheMarks(generation !== null && generation >= 4.5);
  const betas = betasOf(headers["anthropic-beta"]);
  const rewritten: Record<string, Json | undefined> = {};
  for (const name of ["system", "tools", "messages"] as const) {
    const value = body[name];
    const changed = marks.rewrite(name === "messages" ? withoutSystemTurns(value) : value);
    if (changed !== value) rewritten[name] = changed;
  }
  return {
    ...without,
    ...rewritten,
    ...contextManagement(body, dropped),
    // Both are in the request's target.
    model: undefined,
    stream: undefined,
    anthropic_version: options.api_version ?? anthropicVersion,
    anthropic_beta: betas.length === 0 ? undefined : betas,
  };
}

/** Bedrock fetches nothing: images and documents have to be in the request. */
function refuseAddresses(blocks: Json | undefined, path: string): void {
  for (const [index, block] of listOf(blocks).entries()) {
    if (!isObject(block)) continue;
    const at = `${path}[${index}]`;
    if (objectOf(block["source"])?.["type"] === "url")
      refuse(`${at}.source`, "this model's provider takes no files by their address; send their bytes");
    refuseAddresses(block["content"], `${at}.content`);
  }
}

function betasOf(header: string | undefined): string[] {
  const named = (header ?? "").split(",").map((beta) => beta.trim());
  return [...new Set(named.map((beta) => renamedBetas[beta] ?? beta))].filter((beta) =>
    knownBetas.test(beta),
  );
}

/** Only some ways of shortening a conversation are known; the answer means the same without the others. */
function contextManagement(body: JsonObject, dropped: Set<string>): MemberChanges {
  const management = objectOf(body["context_management"]);
  if (management === null) return {};
  const edits = listOf(management["edits"]).filter((edit) => isObject(edit) && knownEdits.has(edit["type"]));
  if (edits.length < listOf(management["edits"]).length) dropped.add("context_management.edits");
  return { context_management: edits.length === 0 ? undefined : { ...management, edits } };
}

/** Bedrock takes a mark without a scope, and a time to live for new models only. */
class CacheMarks {
  readonly #takesTimeToLive: boolean;

  constructor(takesTimeToLive: boolean) {
    this.#takesTimeToLive = takesTimeToLive;
  }

  /** The same value if no mark in it has to change. Marks are on tools, and on blocks of content and of results. */
  rewrite(value: Json | undefined): Json | undefined {
    if (Array.isArray(value)) return this.#rewriteList(value);
    if (!isObject(value)) return value;
    const content = this.rewrite(value["content"]);
    const mark = objectOf(value["cache_control"]);
    const changed = mark === null ? null : this.#rewriteMark(mark);
    if (content === value["content"] && changed === mark) return value;
    return {
      ...value,
      ...(content === undefined ? {} : { content }),
      ...(changed === null ? {} : { cache_control: changed }),
    };
  }

  #rewriteList(list: Json[]): Json[] {
    const rewritten = list.map((entry) => this.rewrite(entry) ?? entry);
    return rewritten.some((entry, index) => entry !== list[index]) ? rewritten : list;
  }

  #rewriteMark(mark: JsonObject): JsonObject {
    const { scope, ttl, ...others } = mark;
    const keepsTimeToLive = ttl === undefined || this.#takesTimeToLive;
    if (scope === undefined && keepsTimeToLive) return mark;
    return ttl !== undefined && keepsTimeToLive ? { ...others, ttl } : others;
  }
}

import type { JsonObject } from "../../base/json.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import type { MemberChanges } from "../../dialects/json/patch.ts";
import { atAnthropicOnly, withoutFields } from "../claude/cloud-fields.ts";
import { conversationChanges } from "../claude/conversation.ts";
import { anthropicVersion, type SortedBetas, sortBetas, withBetas } from "../claude/headers.ts";
import type { BodyContext } from "../vendor.ts";

/** Fields of Anthropic's API that Vertex rejects with 400. */
const unknownFields = { ...atAnthropicOnly, cache_control: "dropped", service_tier: "dropped" } as const;

/**
 * Claude's bodies on Vertex: the model is in the target, the version in the body, and a mark on the whole conversation or with
 * a scope is refused. A system message within the conversation becomes the user's text.
 */
export function claudeChanges(
  body: JsonObject,
  { purpose, headers, options }: BodyContext,
  dropped: Set<string>,
): MemberChanges {
  const without = withoutFields(body, unknownFields, dropped);
  return {
    ...without,
    ...(purpose === "generate" ? { model: undefined } : {}),
    ...conversationChanges(body, true),
    anthropic_version: options.anthropic_version ?? anthropicVersion(headers, "vertex-2023-10-16"),
  };
}

export function vertexBetas(headers: ForwardedHeaders): SortedBetas {
  return sortBetas(
    headers,
    /^(?:tool-search-tool-2025-10-19|compact-2026-01-12|computer-use-|context-1m-|context-management-|interleaved-thinking-|web-search-)/,
  );
}

/** Vertex takes the version in the body. It knows only some betas, one of them by another name. */
export function claudeHeaders(headers: ForwardedHeaders): ForwardedHeaders {
  const { "anthropic-version": _, ...rest } = headers;
  return withBetas(rest, vertexBetas(headers));
}

import type { JsonObject } from "../../base/json.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import type { MemberChanges } from "../../dialects/json/patch.ts";
import { anthropicVersion } from "../claude/api-version.ts";
import { atAnthropicOnly, withoutFields } from "../claude/cloud-fields.ts";
import { withoutSystemTurns } from "../claude/system-turns.ts";
import type { BodyContext } from "../vendor.ts";

/** What Anthropic's API has, and Vertex answers 400 to. */
const unknownFields = { ...atAnthropicOnly, cache_control: "dropped" } as const;

/**
 * Claude's bodies on Vertex: the model is in the target, the version in the body, and a mark on the whole conversation is
 * refused. A system message within the conversation becomes the user's text.
 */
export function claudeChanges(
  body: JsonObject,
  { purpose, options }: BodyContext,
  dropped: Set<string>,
): MemberChanges {
  const without = withoutFields(body, unknownFields, dropped);
  const messages = withoutSystemTurns(body["messages"]);
  return {
    ...without,
    ...(purpose === "generate" ? { model: undefined } : {}),
    ...(messages === body["messages"] ? {} : { messages }),
    anthropic_version: options.anthropic_version ?? anthropicVersion,
  };
}

/** The betas that Vertex knows; others are a 400 there. */
const knownBetas =
  /^(?:tool-search-tool-2025-10-19|compact-2026-01-12|computer-use-|context-1m-|context-management-|interleaved-thinking-|web-search-)/;

/** Vertex takes the version in the body, and knows some betas only, one of them by another name. */
export function claudeHeaders(headers: ForwardedHeaders): ForwardedHeaders {
  const { "anthropic-version": _, "anthropic-beta": asked, ...rest } = headers;
  const betas = (asked ?? "")
    .split(",")
    .map((beta) => beta.trim().replace(/^advanced-tool-use-.*/, "tool-search-tool-2025-10-19"))
    .filter((beta) => knownBetas.test(beta));
  return betas.length === 0 ? rest : { ...rest, "anthropic-beta": [...new Set(betas)].join(",") };
}

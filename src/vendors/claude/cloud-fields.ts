import type { JsonObject } from "../../base/json.ts";
import { requestFields } from "../../dialects/anthropic-messages/client/fields.ts";
import { decideFields, type FieldDecisions, unsupported } from "../../dialects/contract/field-decisions.ts";
import type { MemberChanges } from "../../dialects/json/patch.ts";

/**
 * Features that Anthropic's own API stores or runs for a client, and no cloud does. Without them the response would
 * differ, so they are rejected with the message on which Anthropic's SDK resends the whole conversation of a thread.
 */
export const atAnthropicOnly = {
  container: requestFields.container,
  inference_geo: requestFields.inference_geo,
  mcp_servers: { rejected: `${unsupported}. Remove it` },
  thread: requestFields.thread,
} as const satisfies FieldDecisions;

/**
 * Rejects or reports fields of Anthropic's API that a cloud's does not have, and takes them out, also where they are
 * null: that counts as absent here, and as an unknown field there.
 */
export function withoutFields(
  body: JsonObject,
  decisions: FieldDecisions,
  dropped: Set<string>,
): MemberChanges {
  const names = Object.keys(decisions);
  decideFields(Object.fromEntries(names.map((name) => [name, body[name] ?? null])), decisions, dropped);
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

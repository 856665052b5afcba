import type { Json, JsonObject } from "../../base/json.ts";
import type { DroppedFields } from "../contract/field-decisions.ts";
import type { Target } from "../contract/provider-dialect.ts";
import { type ForwardedHeaders, noHeaders, pickHeaders } from "../headers.ts";
import type { Effort, IrIdentity, IrRequest } from "../ir/ir.ts";
import { parseObject, stringOf } from "../json/json-fields.ts";
import { countMarks, limitMarks } from "../target/mark-cache.ts";
import { openAiTakesSampling } from "../target/model-traits.ts";

/** Forwarded to providers of OpenAI's dialects. */
const names = ["openai-beta", "x-codex-beta-features", "x-openai-internal-codex-responses-lite"] as const;

export function forwardHeaders(client: Headers): ForwardedHeaders {
  return pickHeaders(names, client);
}

/** Removes another dialect's headers, which a translated request may have. */
export function requestHeaders(forwarded: ForwardedHeaders): ForwardedHeaders {
  if (forwarded === noHeaders) return noHeaders;
  return pickHeaders(names, { get: (name) => forwarded[name] ?? null });
}

/** OpenAI returns 400 for longer values. */
const maxChars = 64;

/**
 * The user's identity in OpenAI's dialects. Claude Code's `user_id` is about 170 characters of JSON that include the
 * session: it is hashed to a short name, and the session becomes the prompt cache key.
 */
export function openAiIdentity(identity: IrIdentity, target: Target) {
  const { user, safetyIdentifier, promptCacheKey } = identity;
  const session = user === null || !target.isStrict ? null : sessionOf(user);
  const cacheKey = promptCacheKey ?? session;
  return {
    ...(user === null ? {} : { user: hashedIfLong(user) }),
    ...(safetyIdentifier === null ? {} : { safety_identifier: hashedIfLong(safetyIdentifier) }),
    ...(cacheKey === null ? {} : { prompt_cache_key: hashedIfLong(cacheKey) }),
  };
}

/** The newer field has the same meaning. */
export function readUser({ safety_identifier, user }: JsonObject): string | null {
  return stringOf(safety_identifier) || stringOf(user) || null;
}

/** Hashed instead of truncated, because two users may have the same prefix. */
export function hashedIfLong(name: string): string {
  return name.length <= maxChars ? name : new Bun.CryptoHasher("sha256").update(name).digest("hex");
}

/** Claude Code writes `{"session_id": …}`; older ones `user_…_session_…`, with a UUID. */
function sessionOf(user: string): string | null {
  return stringOf(parseObject(user)?.["session_id"]) ?? /_session_([\w-]{1,100})$/.exec(user)?.[1] ?? null;
}

/** The body's own fields for it. */
export function readIdentity(body: JsonObject): IrIdentity {
  return {
    user: stringOf(body["user"]),
    safetyIdentifier: stringOf(body["safety_identifier"]),
    promptCacheKey: stringOf(body["prompt_cache_key"]),
  };
}

/** OpenAI's reasoning models reject sampling, and only Anthropic documents top_k. */
export function openAiSampling(
  { sampling }: IrRequest,
  effort: Effort | null,
  target: Target,
  dropped: DroppedFields,
): JsonObject {
  const { temperature, topP, topK } = sampling;
  if (topK !== null) dropped.addNamed("topK");
  if (openAiTakesSampling(target, effort)) {
    return { ...(temperature === null ? {} : { temperature }), ...(topP === null ? {} : { top_p: topP }) };
  }
  if (temperature !== null) dropped.addNamed("temperature");
  if (topP !== null) dropped.addNamed("topP");
  return {};
}

/** OpenAI's form of a mark, for models that take one. The lifetime is the request's. */
export const cacheBreakpoint = { prompt_cache_breakpoint: { mode: "explicit" } };

/** Limits the breakpoints, and reports if not all marks of the request are left: tools and some parts have no place for one. */
export function limitBreakpoints(written: readonly Json[], request: IrRequest, dropped: DroppedFields): void {
  if (limitMarks(written, "prompt_cache_breakpoint") < countMarks(request)) dropped.addNamed("cacheMark");
}

/** What requests of OpenAI's two dialects have in common. */
export const sharedTop: readonly string[] = [
  ...["model", "stream", "tools", "tool_choice", "service_tier", "store"],
  ...["metadata", "user", "safety_identifier", "prompt_cache_key"],
];

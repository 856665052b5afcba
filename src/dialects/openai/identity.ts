import type { JsonObject } from "../../base/json.ts";
import type { IrIdentity } from "../ir/ir.ts";
import { parseObject, stringOf } from "../json/json-fields.ts";
import type { Target } from "../provider-dialect.ts";

/** OpenAI answers 400 to longer values. */
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
    ...(user === null ? {} : { user: shortened(user) }),
    ...(safetyIdentifier === null ? {} : { safety_identifier: shortened(safetyIdentifier) }),
    ...(cacheKey === null ? {} : { prompt_cache_key: shortened(cacheKey) }),
  };
}

/** The newer field has the same meaning. */
export function readUser({ safety_identifier, user }: JsonObject): string | null {
  return stringOf(safety_identifier) || stringOf(user) || null;
}

/** Hashed instead of truncated, because two users may have the same prefix. */
export function shortened(name: string): string {
  return name.length <= maxChars ? name : new Bun.CryptoHasher("sha256").update(name).digest("hex");
}

/** Claude Code writes `{"session_id": …}`; older ones `user_…_session_…`. */
function sessionOf(user: string): string | null {
  return stringOf(parseObject(user)?.["session_id"]) ?? /_session_([\w-]+)$/.exec(user)?.[1] ?? null;
}

/** The body's own fields for it. */
export function readIdentity(body: JsonObject): IrIdentity {
  return {
    user: stringOf(body["user"]),
    safetyIdentifier: stringOf(body["safety_identifier"]),
    promptCacheKey: stringOf(body["prompt_cache_key"]),
  };
}

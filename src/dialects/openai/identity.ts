import type { IrIdentity } from "../ir/ir.ts";
import { parseObject, stringOf } from "../json/json-fields.ts";
import type { Target } from "../provider-dialect.ts";

/** OpenAI answers 400 to a longer one. */
const maxChars = 64;

export interface OpenAiIdentity {
  user?: string;
  safety_identifier?: string;
  prompt_cache_key?: string;
}

/**
 * Who asks, as both of OpenAI's dialects say it. Claude Code's `user_id` is some 170 characters of JSON with
 * the session in it: the whole becomes a short name, the session the key under which a prompt is cached.
 */
export function openAiIdentity(identity: IrIdentity, target: Target): OpenAiIdentity {
  const { user, safetyIdentifier, promptCacheKey } = identity;
  const session = user === null || !target.isStrict ? null : sessionOf(user);
  const cacheKey = promptCacheKey ?? session;
  return {
    ...(user === null ? {} : { user: shortened(user) }),
    ...(safetyIdentifier === null ? {} : { safety_identifier: shortened(safetyIdentifier) }),
    ...(cacheKey === null ? {} : { prompt_cache_key: shortened(cacheKey) }),
  };
}

/** A hash instead of a cut, because the beginnings of two users may be the same. */
export function shortened(name: string): string {
  return name.length <= maxChars ? name : new Bun.CryptoHasher("sha256").update(name).digest("hex");
}

/** Claude Code writes `{"session_id": …}`; older ones `user_…_session_…`. */
function sessionOf(user: string): string | null {
  return stringOf(parseObject(user)?.["session_id"]) ?? /_session_([\w-]+)$/.exec(user)?.[1] ?? null;
}

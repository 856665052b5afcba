import { isObject, type Json, type JsonObject } from "../base/json.ts";

/** What clients add, move or leave out from turn to turn, without saying anything else. */
const incidental: ReadonlySet<string> = new Set([
  ...["type", "role", "id", "status"],
  ...["cache_control", "prompt_cache_breakpoint"],
]);

/**
 * A hash of how a conversation begins, in any dialect: the system prompt and everything up to the user's first message.
 * It is the same in every turn, whether a text stands alone or in a list of parts.
 */
export function openingHash(body: JsonObject): number {
  const turns = body["messages"] ?? body["input"];
  const prompt = hashTexts(body["system"] ?? body["instructions"], 0);
  if (!Array.isArray(turns)) return hashTexts(turns, prompt);
  const first = turns.findIndex((turn) => isObject(turn) && turn["role"] === "user");
  return hashTexts(turns.slice(0, Math.max(first, 0) + 1), prompt);
}

function hashTexts(value: Json | undefined, hash: number): number {
  if (typeof value === "string") return Bun.hash.xxHash32(value, hash);
  if (typeof value !== "object" || value === null) return hash;
  let next = hash;
  for (const [name, inner] of Object.entries(value)) if (!incidental.has(name)) next = hashTexts(inner, next);
  return next;
}

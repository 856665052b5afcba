import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { clientDialects } from "./registry.ts";

/** Fields that clients add, move or omit from turn to turn without changing the meaning. */
const incidental: ReadonlySet<string> = new Set([
  ...["type", "role", "id", "status"],
  ...["cache_control", "prompt_cache_breakpoint"],
]);

/** The fields with the conversation, in any dialect. */
export const turnFields: readonly string[] = [
  ...new Set(clientDialects.map(({ fieldNames }) => fieldNames.turns)),
];
const systemFields: readonly string[] = clientDialects.flatMap((dialect) => dialect.systemFields);

function firstOf(body: JsonObject, fields: readonly string[]): Json | undefined {
  for (const field of fields) if (body[field] != null) return body[field];
  return undefined;
}

/**
 * A hash of a conversation's beginning, in any dialect: the system prompt and everything up to the user's first
 * message. It is the same in every turn, whether a text is a string or in a list of parts.
 */
export function openingHash(body: JsonObject): number {
  const turns = firstOf(body, turnFields);
  const prompt = hashTexts(firstOf(body, systemFields), 0);
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

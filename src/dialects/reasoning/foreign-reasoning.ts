import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { stringOf } from "../json/json-fields.ts";
import { envelopeMark, isReasoningEnvelope } from "./reasoning-envelope.ts";

/**
 * A conversation that began on another provider holds that provider's reasoning in envelopes. Anthropic and OpenAI would
 * reject the whole conversation because of a signature that is not theirs, so it is removed from requests that pass through.
 */

const mark = Buffer.from(`"${envelopeMark}`);

/** Whether a body may hold an envelope. */
export function mayHoldEnvelope(bytes: Uint8Array): boolean {
  return holds(bytes, mark);
}

export function holds(bytes: Uint8Array, text: Buffer): boolean {
  // Called on the bytes as they are: to make a Buffer of a small array, the runtime first makes a buffer for it (1.7 µs).
  return Buffer.prototype.indexOf.call(bytes, text) !== -1;
}

/** Whether a block or an item is a compacted conversation. */
export function isCompacted({ type }: JsonObject): boolean {
  return typeof type === "string" && type.startsWith("compaction");
}

/** Whether a block or item of this type has any signature, in the field where its vendor puts it. */
export function hasSignature(value: Json, type: string, field: string): boolean {
  return isObject(value) && value["type"] === type && (stringOf(value[field]) ?? "") !== "";
}

/** Whether a block or item of this type has an envelope in the field where its vendor puts the signature. */
export function isForeignReasoning(value: Json, type: string, field: string): boolean {
  return isObject(value) && value["type"] === type && isReasoningEnvelope(stringOf(value[field]) ?? "");
}

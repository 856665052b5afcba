import { isObject, type Json } from "../../base/json.ts";
import { stringOf } from "../json/json-fields.ts";
import { envelopeMark, isReasoningEnvelope } from "./reasoning-envelope.ts";

/**
 * A conversation that began on another provider holds that provider's reasoning in envelopes. Anthropic and OpenAI would
 * reject the whole conversation because of a proof that is not theirs, so it is removed from requests that pass through.
 */

const mark = Buffer.from(`"${envelopeMark}`);

/** Whether a body may hold an envelope. Searches the bytes, because nearly no body does. */
export function mayHoldEnvelope(bytes: Uint8Array): boolean {
  // Called on the bytes as they are: to make a Buffer of a small array, the runtime first makes a buffer for it (1.7 µs).
  return Buffer.prototype.indexOf.call(bytes, mark) !== -1;
}

/** Whether a block or item of this type has any proof, in the field where its vendor puts it. */
export function hasProof(value: Json, type: string, field: string): boolean {
  return isObject(value) && value["type"] === type && (stringOf(value[field]) ?? "") !== "";
}

/** Whether a block or item of this type has an envelope in the field where its vendor puts the proof. */
export function isForeignReasoning(value: Json, type: string, field: string): boolean {
  return isObject(value) && value["type"] === type && isReasoningEnvelope(stringOf(value[field]) ?? "");
}

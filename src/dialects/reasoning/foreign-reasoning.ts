import { asBuffer } from "../../base/as-buffer.ts";
import { isObject, type Json } from "../../base/json.ts";
import { stringOf } from "../json/json-fields.ts";
import { envelopeMark, isReasoningEnvelope } from "./reasoning-envelope.ts";

/**
 * A conversation that began on another provider holds that one's reasoning in envelopes. To Anthropic and
 * OpenAI these are proofs that they never made: they would refuse the whole conversation, so what passes
 * through to them goes without.
 */

const mark = Buffer.from(`"${envelopeMark}`);

/** Whether a body may hold an envelope; a look at its bytes, because nearly none does. */
export function mayHoldEnvelope(bytes: Uint8Array): boolean {
  return asBuffer(bytes).indexOf(mark) !== -1;
}

/** Whether a value of the wire type has an envelope in the field where its vendor keeps a proof. */
export function isForeignReasoning(value: Json, type: string, field: string): boolean {
  return isObject(value) && value["type"] === type && isReasoningEnvelope(stringOf(value[field]) ?? "");
}

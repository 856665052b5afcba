import type { JsonObject } from "../../../base/json.ts";
import { listOf } from "../../json/json-fields.ts";
import type { BodyChanges } from "../../json/patch.ts";

const encryptedReasoning = "reasoning.encrypted_content";

/** Without its ciphertext, reasoning would be lost to the conversation once the provider keeps none of it. */
export function statelessChanges({ include }: JsonObject, mayReason: boolean): BodyChanges {
  const included = listOf(include);
  if (!mayReason || included.includes(encryptedReasoning)) return { store: false };
  return { store: false, include: [...included, encryptedReasoning] };
}

import { type IssuedKey, issueKey, type KeySpec } from "../../keys/issue.ts";
import type { OperationContext } from "./context.ts";
import { checkKeyFields } from "./key-fields.ts";
import { type KnownNames, refuseUnknownNames } from "./known-names.ts";
import { OperationRefusal } from "./refusal.ts";

/** `known`: the names that scope and models are checked against; null if unknown. */
export async function createKey(
  { store, clock }: OperationContext,
  spec: KeySpec,
  known: KnownNames | null = null,
): Promise<IssuedKey> {
  checkModeFields(spec);
  checkKeyFields(spec, clock.wallMs());
  if (known !== null) refuseUnknownNames(spec, known);
  return issueKey(store, clock, spec);
}

function checkModeFields(spec: KeySpec): void {
  if (spec.mode === "token_budget") {
    if (spec.creditNano === undefined) return;
    throw new OperationRefusal("invalid_input", "a token-budget key has no credit; give it a budget instead");
  }
  if (spec.budgetTokens != null) {
    throw new OperationRefusal("invalid_input", "a credit key has no token budget; give it credit instead");
  }
  if (spec.period !== undefined && spec.period !== "none") {
    throw new OperationRefusal("invalid_input", "a credit key has no budget period");
  }
}

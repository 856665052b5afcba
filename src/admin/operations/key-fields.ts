import { OperationRefusal } from "./refusal.ts";

const maxLabelLength = 200;

interface KeyFields {
  readonly label?: string | null | undefined;
  readonly budgetTokens?: number | null | undefined;
  readonly rpmLimit?: number | null | undefined;
  readonly scope?: string | undefined;
  readonly models?: readonly string[] | null | undefined;
  readonly expiresAtMs?: number | null | undefined;
}

/** Checks a key's fields against their limits, for every caller. */
export function checkKeyFields(fields: KeyFields, nowMs: number): void {
  const { label, budgetTokens, rpmLimit, scope, models, expiresAtMs } = fields;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  if (label != null && (label.length > maxLabelLength || /[\u0000-\u001f\u007f]/.test(label))) {
    refuse(`a label is one line of at most ${maxLabelLength} characters`);
  }
  if (budgetTokens != null && !isWhole(budgetTokens, 0)) refuse("a budget is a whole number of tokens");
  if (rpmLimit != null && !isWhole(rpmLimit, 1)) refuse("a rate limit is at least 1 request per minute");
  if (scope !== undefined && !/^[a-z0-9][a-z0-9_-]*$/.test(scope)) {
    refuse('a scope is a provider\'s name, or "all"');
  }
  if (models != null && (models.length === 0 || models.includes(""))) {
    refuse("a list of models names at least one; without a list the key may use all");
  }
  if (expiresAtMs != null && (!Number.isSafeInteger(expiresAtMs) || expiresAtMs <= nowMs)) {
    refuse("the expiry lies in the past; revoke the key if it should end now");
  }
}

function isWhole(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least;
}

function refuse(message: string): never {
  throw new OperationRefusal("invalid_input", message);
}

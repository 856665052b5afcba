import { type IssuedKey, issueKey, type KeySpec } from "../../keys/issue.ts";
import { findAccount } from "../accounts/accounts.ts";
import { invalidInput, type OperationContext } from "../context.ts";
import { capLimits, type WrittenCap } from "../key-terms/cap-text.ts";
import { checkKeyFields, checkKeyMode } from "../key-terms/key-fields.ts";
import { type KnownNames, rejectUnknownNames } from "../key-terms/known-names.ts";

/** `known` has the names that scope and models are checked against; null skips the check. */
export async function createKey(
  { store, clock }: OperationContext,
  spec: KeySpec,
  known: KnownNames | null = null,
): Promise<IssuedKey> {
  checkModeFields(spec);
  checkKeyFields(spec, clock.wallMs());
  checkKeyMode(spec, spec.mode);
  if (known !== null) rejectUnknownNames(spec, known);
  return issueKey(store, clock, spec);
}

export interface PaidKeySpec extends Omit<KeySpec, "mode" | "accountId" | "caps"> {
  /** Optional if `account` is set: the mode is the account's. */
  readonly mode?: KeySpec["mode"] | undefined;
  /** The id or label of the account to bill. Without it the key gets its own account. */
  readonly account?: string | undefined;
  /** Replaces the caps that the account defines for new keys. */
  readonly caps?: readonly WrittenCap[] | undefined;
}

/** Creates a key on an existing account, or with a new account for this key alone. */
export async function createKeyOn(
  context: OperationContext,
  { account: name, caps, mode: requestedMode, ...spec }: PaidKeySpec,
  known: KnownNames | null = null,
): Promise<IssuedKey> {
  const account = name === undefined ? null : await findAccount(context, name);
  const mode = account?.mode ?? requestedMode;
  if (mode === undefined || (requestedMode !== undefined && requestedMode !== mode)) {
    throw invalidInput(
      mode === undefined ? "pass a mode or an account" : `the account's keys have mode ${mode}`,
    );
  }
  const { creditNano, budgetTokens, period, isPostpaid } = spec;
  const isPaidItself = creditNano !== undefined || budgetTokens != null || period !== undefined || isPostpaid;
  if (account !== null && isPaidItself) {
    throw invalidInput("set balance and budget on the account");
  }
  const limits = caps === undefined ? account?.keyCaps : capLimits(caps, mode);
  return createKey(context, { ...spec, mode, accountId: account?.id, caps: limits }, known);
}

function checkModeFields(spec: KeySpec): void {
  if (spec.mode === "token_budget") {
    if (spec.isPostpaid) {
      throw invalidInput("a postpaid key is billed in credits; its mode is credit");
    }
    if (spec.creditNano === undefined) return;
    throw invalidInput("a token-budget key has no credit; set a budget instead");
  }
  if (spec.budgetTokens != null) {
    throw invalidInput("a credit key has no token budget; set credit instead");
  }
  if (spec.period !== undefined && spec.period !== "none") {
    throw invalidInput("a credit key has no budget period");
  }
}

import type { CapRecord } from "../../store/store.ts";
import { findAccount } from "./accounts.ts";
import { capLimits, capName } from "./cap-text.ts";
import type { OperationContext } from "./context.ts";
import { checkEntryText } from "./entry-text.ts";
import { findKey } from "./find-key.ts";
import { OperationRefusal } from "./refusal.ts";
import type { UpdatedKey } from "./update-key.ts";

/** From now on the key draws on another account of its mode. */
export async function moveKey(context: OperationContext, name: string, account: string): Promise<UpdatedKey> {
  const { id, accountId } = await findKey(context, name);
  const to = await findAccount(context, account);
  return {
    key: await context.store.moveKey(id, to.id),
    detail: `${accountId} → ${to.id}`,
  };
}

interface Extension {
  /** In credits or tokens. */
  readonly amount: number;
  /** Names one cap where the key has several: `month`, `week:claude-opus-*`. */
  readonly cap?: string | undefined;
  /** The reason, kept in the audit log. */
  readonly note: string;
}

/** Raises one of the key's caps for its running period alone. */
export async function extendKey(
  context: OperationContext,
  name: string,
  { amount, cap: which, note }: Extension,
): Promise<UpdatedKey> {
  const { id, mode, prefix, caps } = await findKey(context, name);
  checkEntryText(note.trim());
  const cap = capNamed(caps, which, prefix);
  const [limit] = capLimits([{ ...cap, amount }], mode);
  await context.store.extendCap({ keyId: id }, cap.no, limit?.limit ?? 0, context.clock.wallMs());
  return { key: await findKey(context, id), detail: `+${amount}/${capName(cap)}: ${note}` };
}

function capNamed(caps: readonly CapRecord[], which: string | undefined, prefix: string): CapRecord {
  const [only, ...others] = caps.filter((cap) => which === undefined || capName(cap) === which);
  if (only !== undefined && others.length === 0) return only;
  const names = caps.map(capName).join(", ");
  const why = caps.length === 0 ? `${prefix} has no cap` : `name one of its caps: ${names}`;
  throw new OperationRefusal("invalid_input", why);
}

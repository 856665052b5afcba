import { creditsFromNano } from "../../base/money.ts";
import type { CapRecord, KeyRecord } from "../../store/store.ts";
import { findAccount } from "./accounts.ts";
import { capLimits, type WrittenCap } from "./cap-text.ts";
import type { OperationContext } from "./context.ts";
import { findKey } from "./find-key.ts";
import { OperationRefusal } from "./refusal.ts";

/** From now on the key draws on another account of its mode. */
export async function moveKey(context: OperationContext, name: string, account: string): Promise<KeyRecord> {
  const key = await findKey(context, name);
  const { id } = await findAccount(context, account);
  return context.store.moveKey(key.id, id);
}

/** These take the place of all caps that the key has. */
export async function setKeyCaps(
  context: OperationContext,
  name: string,
  caps: readonly WrittenCap[],
): Promise<KeyRecord> {
  const { id, mode } = await findKey(context, name);
  await context.store.setCaps({ keyId: id }, capLimits(caps, mode), context.clock.wallMs());
  return findKey(context, id);
}

/** Raises one of the key's caps for its running period alone. `which` names it, where there are several. */
export async function extendKey(
  context: OperationContext,
  name: string,
  amount: number,
  which: string | undefined,
): Promise<KeyRecord> {
  const { id, mode, prefix, caps } = await findKey(context, name);
  const cap = capNamed(caps, which, prefix);
  const [limit] = capLimits([{ amount, period: cap.period, models: cap.models }], mode);
  await context.store.extendCap({ keyId: id }, cap.no, limit?.limit ?? 0, context.clock.wallMs());
  return findKey(context, id);
}

function capNamed(caps: readonly CapRecord[], which: string | undefined, prefix: string): CapRecord {
  const fitting = caps.filter((cap) => which === undefined || nameOf(cap) === which);
  const [only, ...others] = fitting;
  if (only !== undefined && others.length === 0) return only;
  const names = caps.map(nameOf).join(", ");
  const why = caps.length === 0 ? `${prefix} has no cap` : `name one of its caps with --cap: ${names}`;
  throw new OperationRefusal("invalid_input", why);
}

/** The caps that a key has now, for the audit log. */
export function capsDetail({ caps, mode }: KeyRecord): string {
  if (caps.length === 0) return "caps none";
  const amounts = caps.map(
    (cap) => `${mode === "credit" ? creditsFromNano(cap.limit) : cap.limit}/${nameOf(cap)}`,
  );
  return `caps ${amounts.join(", ")}`;
}

/** `month`, or `week:claude-opus-*`. */
function nameOf({ period, models }: CapRecord): string {
  return models === null ? period : `${period}:${models}`;
}

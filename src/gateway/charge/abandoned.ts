import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import type { CostMeter } from "./cost-meter.ts";
import { ProducedOutput, type UsageEvidence } from "./usage-evidence.ts";

/** Whether the client disconnected from a call that the provider may bill. */
export function isAbandoned({ hasClientDisconnected, outlivesClient, endedBy, attempts }: Exchange): boolean {
  return hasClientDisconnected && !outlivesClient && endedBy === null && attempts.isAccepted;
}

/**
 * Ends the charge of a call that the provider may bill and whose client disconnected before any output. It is free while the account's
 * allowance for such calls lasts; beyond that it costs its counted input. Its limits of tokens per minute keep that in either case.
 * Returns whether it was charged.
 */
export async function settleAbandoned(
  { abandonAllowance }: Pick<Gateway, "abandonAllowance">,
  meter: CostMeter,
  counted: Pick<UsageEvidence, "requestBytes" | "countInput">,
  status: number,
): Promise<boolean> {
  meter.noteNoCalls();
  const evidence = { ...counted, usage: null, partialUsage: null, produced: () => new ProducedOutput() };
  const { cost, tokens } = await meter.estimatedCost(evidence);
  meter.exchange.abandonedTokens = tokens;
  const isFree = await abandonAllowance.covers(meter.hold.accountId, meter.key.mode, cost);
  if (isFree) meter.release();
  else await meter.settle("cancelled", evidence, status, null);
  return !isFree;
}

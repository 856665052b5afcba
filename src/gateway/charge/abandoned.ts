import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import type { Bill, Evidence } from "./bill.ts";
import { Produced } from "./produced.ts";

/** nginx's status for a client that disconnected before the response. */
const clientClosedRequest = 499;

/** Whether the client disconnected from a call that the provider may bill. */
export function isAbandoned({ hasClientLeft, outlivesClient, endedBy, attempts }: Exchange): boolean {
  return hasClientLeft && !outlivesClient && endedBy === null && attempts.isAccepted;
}

/**
 * Ends the charge of a call that the provider had accepted and whose client disconnected before any output. It is free while the account's
 * allowance for such calls lasts; beyond that it costs its counted input. Returns whether it was charged.
 */
export async function settleAbandoned(
  { abandonAllowance }: Pick<Gateway, "abandonAllowance">,
  bill: Bill,
  counted: Pick<Evidence, "requestBytes" | "countInput">,
  status = clientClosedRequest,
): Promise<boolean> {
  bill.noteNoCalls();
  const evidence = { ...counted, usage: null, partialUsage: null, produced: () => new Produced() };
  const cost = await bill.estimatedCost(evidence);
  const isFree = await abandonAllowance.covers(bill.hold.accountId, bill.key.mode, cost);
  if (isFree) bill.release();
  else await bill.settle("cancelled", evidence, status, null);
  return !isFree;
}

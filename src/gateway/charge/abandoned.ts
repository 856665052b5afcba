import { assert } from "../../base/assert.ts";
import { noCalls } from "../../base/usage/extra-usage.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import type { Bill, Evidence } from "./bill.ts";
import { Produced } from "./produced.ts";

/** nginx's status for a client that disconnected before the response. */
const clientClosedRequest = 499;

/** Whether the client disconnected from a call that the provider may bill. */
export function isAbandoned({ hasClientLeft, outlivesClient, endedBy, billable }: Exchange): boolean {
  return hasClientLeft && !outlivesClient && endedBy === null && billable.isAccepted;
}

/**
 * Ends the charge of a call that the provider had accepted and whose client disconnected before any output. It is free while the account's
 * allowance for such calls lasts; beyond that it costs its counted input. Returns whether it was charged.
 */
export async function settleAbandoned(
  { abandonAllowance }: Pick<Gateway, "abandonAllowance">,
  exchange: Exchange,
  bill: Bill,
  counted: Pick<Evidence, "requestBytes" | "countInput">,
  status = clientClosedRequest,
): Promise<boolean> {
  const { hold, key, extras } = exchange;
  assert(hold !== null && key !== null, "an abandoned call has a hold");
  // No tool is known to have been called.
  if (extras !== null) exchange.extras = { ...extras, calls: noCalls };
  const evidence = { ...counted, usage: null, partialUsage: null, produced: () => new Produced() };
  const cost = await bill.estimatedCost(evidence);
  const isFree = await abandonAllowance.covers(hold.accountId, key.mode, cost);
  if (isFree) bill.release();
  else await bill.settle("cancelled", evidence, status, null);
  return !isFree;
}

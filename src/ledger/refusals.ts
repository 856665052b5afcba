import { GatewayError } from "../base/errors.ts";
import { creditsFromNano, maxCredits, unaffordableNano } from "../base/money.ts";
import type { KeyMode } from "../store/store.ts";

/** The balance is too low, regardless of other holds. */
export function insufficient(mode: KeyMode, needed: number, balance: number): GatewayError {
  const [what, amount, rest, more] =
    mode === "credit"
      ? ["cost", `${atMost(needed)} credits`, `${creditsFromNano(balance)}`, "top up the key"]
      : ["use", `up to ${needed} tokens`, `${balance} of this period's budget`, "have the budget raised"];
  return new GatewayError(
    "insufficient_credit",
    `This request may ${what} ${amount}; there are ${rest} left. Lower the output limit or ${more}.`,
  );
}

function atMost(needed: number): string {
  return needed === unaffordableNano ? `more than ${maxCredits}` : `up to ${creditsFromNano(needed)}`;
}

/** The balance suffices, but other requests hold part of it. */
export function temporarilyReserved(mode: KeyMode): GatewayError {
  const what = mode === "credit" ? "credit" : "token budget";
  return new GatewayError(
    "balance_temporarily_reserved",
    `Other requests in flight have reserved this key's ${what}. Retry when one of them has ended.`,
    { retryAfterSeconds: 1 },
  );
}

/** A budget that never refreshes is like spent credit: waiting would not help the client. */
export function budgetUsedUp(nextPeriodMs: number | null, nowMs: number): GatewayError {
  if (nextPeriodMs === null) {
    return new GatewayError(
      "insufficient_credit",
      "The token budget of this key is used up, and it does not refresh.",
    );
  }
  return new GatewayError(
    "limit_reached",
    `The token budget of this period is used up. It is fresh again at ${new Date(nextPeriodMs).toISOString()}.`,
    { retryAfterSeconds: Math.max(1, Math.ceil((nextPeriodMs - nowMs) / 1000)) },
  );
}

export function journalUnavailable(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "The gateway cannot record charges at the moment. Retry shortly.",
    { retryAfterSeconds: 5 },
  );
}

import { GatewayError } from "../base/errors.ts";
import { creditsFromNano, maxCredits, unaffordableNano } from "../base/money.ts";
import type { KeyMode } from "../store/store.ts";

/** Too little for this request. A smaller one may fit, as long as it is below the balance. */
export class TooLittle extends GatewayError {
  /** What there is, including what is held. */
  readonly balance: number;

  constructor(
    code: "insufficient_credit" | "balance_temporarily_reserved",
    message: string,
    balance: number,
    retryAfterSeconds?: number,
  ) {
    super(code, message, { retryAfterSeconds });
    this.balance = balance;
  }
}

/** The balance is too low, regardless of other holds. */
export function insufficient(mode: KeyMode, needed: number, balance: number): TooLittle {
  const [what, amount, rest, more] =
    mode === "credit"
      ? ["cost", `${atMost(needed)} credits`, `${creditsFromNano(balance)}`, "top up the key"]
      : ["use", `up to ${needed} tokens`, `${balance} of this period's budget`, "have the budget raised"];
  return new TooLittle(
    "insufficient_credit",
    `This request may ${what} ${amount}; there are ${rest} left. Lower the output limit or ${more}.`,
    balance,
  );
}

function atMost(needed: number): string {
  return needed === unaffordableNano ? `more than ${maxCredits}` : `up to ${creditsFromNano(needed)}`;
}

/** The balance suffices, but other requests hold part of it. */
export function temporarilyReserved(mode: KeyMode, balance: number): TooLittle {
  const what = mode === "credit" ? "credit" : "token budget";
  return new TooLittle(
    "balance_temporarily_reserved",
    `Other requests in flight have reserved this key's ${what}. Retry when one of them has ended.`,
    balance,
    1,
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

/** The key was changed after it was looked at, a moment ago: the database knows better. */
export function unusableKey(
  status: "disabled" | "expired" | "suspended" | "revoked" | "unknown_key",
): GatewayError {
  switch (status) {
    case "disabled":
      return new GatewayError("key_disabled", "The API key is disabled.");
    case "expired":
      return new GatewayError("key_expired", "The API key has expired.");
    case "suspended":
      return new GatewayError("invalid_credentials", "The API key is suspended.");
    case "revoked":
      return new GatewayError("invalid_credentials", "The API key has been revoked.");
    case "unknown_key":
      return new GatewayError("invalid_credentials", "The API key is not valid.");
  }
}

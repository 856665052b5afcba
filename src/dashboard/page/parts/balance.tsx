import type { AccountView } from "../../../admin/accounts/schema.ts";
import type { KeyView } from "../../../admin/keys/schema.ts";
import { leftOfCap, tightestCap } from "../../../base/money/tightest-cap.ts";
import { credits, exactCredits, shortCount } from "../format.ts";
import { capText } from "./cap-bars.tsx";
import { Money } from "./money.tsx";

/** The remaining amount of a key or an account, or what it owes. */
export interface BalanceSummary {
  readonly name: string;
  readonly main: string;
  /** All digits, if `main` is rounded. */
  readonly exact?: string;
  readonly side: string;
  /** The remaining amount and the limit; null without a limit. */
  readonly left: { readonly rest: number; readonly limit: number } | null;
}

function prepaid({ credit, budget }: Pick<KeyView, "credit" | "budget">, reserved: number): BalanceSummary {
  if (credit) {
    const { balance, purchased } = credit;
    const holding = reserved > 0 ? ` · ${credits(reserved)} reserved` : "";
    return {
      name: "Balance",
      main: credits(balance),
      exact: exactCredits(balance),
      side: `of ${credits(purchased)} credits${holding}`,
      left: { rest: balance, limit: purchased },
    };
  }
  const { remaining = null, tokens = null, period = "none" } = budget ?? {};
  if (remaining === null || tokens === null) {
    return { name: "Tokens left", main: "no limit", side: "tokens", left: null };
  }
  const per = period === "none" ? "in total" : `per ${period}`;
  return {
    name: "Tokens left",
    main: shortCount(remaining),
    side: `of ${shortCount(tokens)} tokens ${per}`,
    left: { rest: remaining, limit: tokens },
  };
}

/** A postpaid key has no balance: its caps are all that limits it. */
export function keyBalance(key: KeyView): BalanceSummary {
  return key.postpaid ? capStanding(key) : prepaid(key, key.reserved);
}

/** The limit that a key reaches first: a daily cap may be nearly used up while its account is full of credit. */
export function tightestBalance(key: KeyView): BalanceSummary {
  const balance = keyBalance(key);
  if (key.postpaid) return balance;
  const capBalance = capStanding(key);
  const isCapTighter =
    capBalance.left !== null && (balance.left === null || capBalance.left.rest < balance.left.rest);
  return isCapTighter ? capBalance : balance;
}

function capStanding({ caps, account_caps, mode }: KeyView): BalanceSummary {
  const cap = tightestCap([...caps, ...account_caps]);
  const name = "Left of cap";
  if (cap === null) return { name, main: "no cap", side: "postpaid", left: null };
  const rest = leftOfCap(cap);
  const main = mode === "credit" ? credits(rest) : shortCount(rest);
  const exact = mode === "credit" ? { exact: exactCredits(rest) } : {};
  return { name, main, ...exact, side: `of ${capText(cap, mode)}`, left: { rest, limit: cap.limit } };
}

/** A postpaid account owes what it has spent. */
export function accountBalance(account: AccountView): BalanceSummary {
  const { credit, postpaid } = account;
  if (credit === null || !postpaid) return prepaid(account, 0);
  const isAhead = credit.balance > 0;
  const side = isAhead ? "credits paid ahead" : "credits owed (postpaid)";
  const amount = Math.abs(credit.balance);
  return {
    name: isAhead ? "Paid ahead" : "Owed",
    main: credits(amount),
    exact: exactCredits(amount),
    side,
    left: null,
  };
}

/** A key's own spending: total credits, or tokens of the current period. */
export function Spent({ apiKey: { credit, budget, lifetime_spend } }: { apiKey: KeyView }) {
  return credit ? <Money amount={lifetime_spend} /> : shortCount(budget?.used ?? 0);
}

export function Balance({ summary, name }: { summary: BalanceSummary; name: string }) {
  const { main, exact, side, left } = summary;
  return (
    <span class="left">
      <span title={exact}>{main}</span>
      <small class="muted">{side}</small>
      {left !== null && left.limit > 0 && (
        <meter min={0} max={left.limit} value={Math.max(0, left.rest)} aria-label={`Left of ${name}`} />
      )}
    </span>
  );
}

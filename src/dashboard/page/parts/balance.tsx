import type { AccountView } from "../../../admin/accounts/schema.ts";
import type { BoundCapView, CapView, KeyView } from "../../../admin/key-terms/schema.ts";
import { knownUse, leftOfCap, tightestCap } from "../../../base/money/tightest-cap.ts";
import { ownAccountId } from "../../../base/own-account.ts";
import { credits, exactCredits, shortCount } from "../format.ts";
import { capText } from "./cap-bars.tsx";
import { Money } from "./money.tsx";
import { UsedMeter } from "./used-meter.tsx";

/** The remaining balance of a key or an account, or what it owes. */
export interface BalanceSummary {
  readonly name: string;
  readonly main: string;
  /** All digits, if `main` is rounded. */
  readonly exact?: string;
  /** The kind of amount: `left`, `owed`; empty if there is no limit. */
  readonly word: "left" | "owed" | "paid ahead" | "";
  readonly side: string;
  /** Null without a limit. */
  readonly used: { readonly amount: number; readonly limit: number } | null;
}

function prepaid({ credit, budget }: Pick<KeyView, "credit" | "budget">, whose = ""): BalanceSummary {
  if (credit) {
    const { balance, purchased } = credit;
    return {
      name: "Credit left",
      main: credits(balance),
      exact: exactCredits(balance),
      word: "left",
      side: `of ${whose}${credits(purchased)} credits`,
      used: { amount: purchased - balance, limit: purchased },
    };
  }
  const { remaining = null, tokens = null, period = "none", used = 0 } = budget ?? {};
  if (remaining === null || tokens === null) {
    return { name: "Tokens left", main: "no limit", word: "", side: "of tokens", used: null };
  }
  const per = period === "none" ? "in total" : `per ${period}`;
  return {
    name: "Tokens left",
    main: shortCount(remaining),
    word: "left",
    side: `of ${whose}${shortCount(tokens)} tokens ${per}`,
    used: { amount: used, limit: tokens },
  };
}

const ofAccount = "the account's ";

/** A postpaid key has no balance: its caps are all that limits it. */
export function keyBalance(key: KeyView): BalanceSummary {
  if (key.postpaid) return capStanding(key);
  const balance = prepaid(key, key.account === ownAccountId(key.id) ? "" : ofAccount);
  if (key.credit === null || !key.reserved) return balance;
  return { ...balance, side: `${balance.side} · ${credits(key.reserved)} reserved` };
}

const rest = ({ used }: BalanceSummary) =>
  used === null ? Number.POSITIVE_INFINITY : used.limit - used.amount;

/** The limit that a key reaches first: a daily cap may be nearly used up while its account is full of credit. */
export function tightestBalance(key: KeyView): BalanceSummary {
  const balance = keyBalance(key);
  if (key.postpaid) return balance;
  const capBalance = capStanding(key);
  return rest(capBalance) < rest(balance) ? capBalance : balance;
}

function ownerOf(cap: BoundCapView | undefined): string {
  if (cap === undefined) return "";
  return cap.label === "owner" ? "the owner's " : "the tag's ";
}

function capStanding({ caps, account_caps, value_caps, mode }: KeyView): BalanceSummary {
  const byValue = knownUse<BoundCapView>(value_caps);
  const cap = tightestCap<CapView>([...caps, ...account_caps, ...byValue]);
  const name = "Left of cap";
  if (cap === null) return { name, main: "no cap", word: "", side: "postpaid", used: null };
  const left = leftOfCap(cap);
  const whose = account_caps.includes(cap) ? ofAccount : ownerOf(byValue.find((each) => each === cap));
  return {
    name,
    main: mode === "credit" ? credits(left) : shortCount(left),
    ...(mode === "credit" ? { exact: exactCredits(left) } : {}),
    word: "left",
    side: `of ${whose}${capText(cap, mode)}`,
    used: { amount: cap.used, limit: cap.limit },
  };
}

/** A postpaid account owes what it has spent. */
export function accountBalance(account: AccountView): BalanceSummary {
  const { credit, postpaid } = account;
  if (credit === null || !postpaid) return prepaid(account);
  const isAhead = credit.balance > 0;
  const amount = Math.abs(credit.balance);
  return {
    name: isAhead ? "Paid ahead" : "Owed",
    main: credits(amount),
    exact: exactCredits(amount),
    word: isAhead ? "paid ahead" : "owed",
    side: "credits, postpaid",
    used: null,
  };
}

/** `4.50 left of 5.00 credits`, `3.20 owed · credits, postpaid` */
export function balanceText({ main, word, side }: BalanceSummary): string {
  const amount = word === "" ? main : `${main} ${word}`;
  return `${amount}${side.startsWith("of ") ? "" : " ·"} ${side}`;
}

/** A key's own spending: total credits, or tokens of the current period. */
export function Spent({ apiKey: { credit, budget, lifetime_spend } }: { apiKey: KeyView }) {
  return credit ? <Money amount={lifetime_spend} /> : shortCount(budget?.used ?? 0);
}

export function Balance({ summary, name }: { summary: BalanceSummary; name: string }) {
  const { main, exact, word, side, used } = summary;
  return (
    <span class="left">
      <span title={exact}>
        {main} {word}
      </span>
      <small class="muted">{side}</small>
      {used !== null && <UsedMeter {...used} label={`Used of ${name}`} />}
    </span>
  );
}

import type { AccountView, CapView, KeyView } from "../../../admin/views.ts";
import { credits, exactCredits, shortCount } from "../format.ts";
import { capWords } from "./cap-bars.tsx";

/** What a key or an account may still take, or what it owes. */
export interface Standing {
  readonly name: string;
  readonly main: string;
  readonly side: string;
  /** How much is left of how much; null where nothing limits it. */
  readonly left: { readonly rest: number; readonly of: number } | null;
}

function prepaid({ credit, budget }: Pick<KeyView, "credit" | "budget">, held: number): Standing {
  if (credit) {
    const { balance, purchased } = credit;
    const holding = held > 0 ? ` · ${exactCredits(held)} held` : "";
    return {
      name: "Balance",
      main: exactCredits(balance),
      side: `of ${exactCredits(purchased)} credits${holding}`,
      left: { rest: balance, of: purchased },
    };
  }
  const { remaining = null, tokens = null, period = "none" } = budget ?? {};
  if (remaining === null || tokens === null) {
    return { name: "Tokens left", main: "no limit", side: "tokens", left: null };
  }
  const per = period === "none" ? "in all" : `a ${period}`;
  return {
    name: "Tokens left",
    main: shortCount(remaining),
    side: `of ${shortCount(tokens)} tokens ${per}`,
    left: { rest: remaining, of: tokens },
  };
}

/** The cap with the least left, of the key's own and its account's. */
function tightestCap({ caps, account_caps }: KeyView): CapView | null {
  const leftOf = ({ limit, used }: CapView) => limit - used;
  return [...caps, ...account_caps].toSorted((one, other) => leftOf(one) - leftOf(other))[0] ?? null;
}

/** A key that is billed afterwards has no balance: its caps are all that bounds it. */
export function keyStanding(key: KeyView): Standing {
  if (!key.open) return prepaid(key, key.held);
  const cap = tightestCap(key);
  const name = "Left of its cap";
  if (cap === null) return { name, main: "no cap", side: "billed afterwards", left: null };
  const rest = Math.max(0, cap.limit - cap.used);
  const side = `of ${capWords(cap, key.mode)}`;
  return { name, main: credits(rest), side, left: { rest, of: cap.limit } };
}

/** An account that is billed afterwards owes what it has spent. */
export function accountStanding(account: AccountView): Standing {
  const { credit, open } = account;
  if (credit === null || !open) return prepaid(account, 0);
  const isAhead = credit.balance > 0;
  const side = isAhead ? "credits paid ahead" : "credits owed, billed afterwards";
  return { name: isAhead ? "Paid ahead" : "Owed", main: credits(Math.abs(credit.balance)), side, left: null };
}

/** What a key has spent itself: credits for good, or tokens of the running period. */
export function spentWords({ credit, budget, lifetime_spend }: KeyView): string {
  return credit ? exactCredits(lifetime_spend) : shortCount(budget?.used ?? 0);
}

export function Balance({ standing, of }: { standing: Standing; of: string }) {
  const { main, side, left } = standing;
  return (
    <span class="left">
      {main}
      <small class="muted">{side}</small>
      {left !== null && left.of > 0 && (
        <meter min={0} max={left.of} value={Math.max(0, left.rest)} aria-label={`Left of ${of}`} />
      )}
    </span>
  );
}

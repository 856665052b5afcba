import type { AccountView, KeyView } from "../../../admin/views.ts";
import { credits, exactCredits, shortCount } from "../format.ts";

interface Words {
  readonly main: string;
  readonly side: string;
}

/** What a key has left, in its own unit. */
export function balanceWords({ credit, budget, held }: Pick<KeyView, "credit" | "budget" | "held">): Words {
  if (credit) {
    const holding = held > 0 ? ` · ${exactCredits(held)} held` : "";
    return {
      main: exactCredits(credit.balance),
      side: `of ${exactCredits(credit.purchased)} credits${holding}`,
    };
  }
  if (budget === null || budget.remaining === null || budget.tokens === null) {
    return { main: "no limit", side: "tokens" };
  }
  const per = budget.period === "none" ? "in all" : `a ${budget.period}`;
  return { main: shortCount(budget.remaining), side: `of ${shortCount(budget.tokens)} tokens ${per}` };
}

/** What an account has left, or what it owes. */
export function accountWords(account: AccountView): Words {
  const { credit, open } = account;
  if (credit === null) return balanceWords({ ...account, held: 0 });
  const { balance, purchased } = credit;
  if (!open) return { main: credits(balance), side: `of ${credits(purchased)} credits` };
  return { main: credits(Math.abs(balance)), side: balance > 0 ? "credits in advance" : "credits owed" };
}

/** What a key has spent: credits for good, or tokens of the running period. */
export function spentWords({ credit, budget }: Pick<KeyView, "credit" | "budget">): string {
  return credit ? exactCredits(credit.used) : shortCount(budget?.used ?? 0);
}

/** How much is left of how much; null where nothing limits it. */
function left({ credit, budget }: KeyView): readonly [left: number, of: number] | null {
  if (credit) return [credit.balance, credit.purchased];
  const { remaining = null, tokens = null } = budget ?? {};
  return remaining === null || tokens === null ? null : [remaining, tokens];
}

export function Balance({ of }: { of: KeyView }) {
  const { main, side } = balanceWords(of);
  const [rest, all] = left(of) ?? [0, 0];
  return (
    <span class="left">
      {main}
      <small class="muted">{side}</small>
      {all > 0 && (
        <meter min={0} max={all} value={Math.max(0, rest)} aria-label={`Left of ${of.label ?? of.prefix}`} />
      )}
    </span>
  );
}

import type { KeyView } from "../../../admin/views.ts";
import { credits, shortCount } from "../format.ts";

interface Words {
  readonly main: string;
  readonly side: string;
}

function creditWords(of: NonNullable<KeyView["credits"]>): Words {
  const held = of.reserved > 0 ? ` · ${credits(of.reserved)} held` : "";
  return { main: credits(of.balance), side: `of ${credits(of.purchased)} credits${held}` };
}

function tokenWords(key: KeyView): Words {
  const left = key.tokens?.remaining ?? null;
  if (left === null) return { main: shortCount(key.tokens?.used ?? 0), side: "tokens used, no budget" };
  const per = key.period === "none" ? "in all" : `a ${key.period}`;
  return { main: shortCount(left), side: `of ${shortCount(key.budget_tokens ?? 0)} tokens ${per}` };
}

export function balanceWords(key: KeyView): Words {
  return key.credits ? creditWords(key.credits) : tokenWords(key);
}

export function Balance({ of }: { of: KeyView }) {
  const { main, side } = balanceWords(of);
  return (
    <>
      {main}
      <small class="muted">{side}</small>
    </>
  );
}

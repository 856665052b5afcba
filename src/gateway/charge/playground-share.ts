import { GatewayError } from "../../base/errors.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";

/**
 * Takes the call's possible cost from the amount of the playground's secret, in addition to the hold. All gateways use
 * the store for this, so the secret spends its amount only once. A call takes as much as the most expensive model in
 * its hold.
 */
export async function takeShare(
  { playground }: Pick<Gateway, "playground">,
  { taken, key }: Exchange,
  amount: number,
): Promise<void> {
  const share = taken.playground;
  if (share === null || amount <= share.taken) return;
  const left = await playground.take(share.hash, amount - share.taken);
  if (left === null) {
    share.taken = amount;
    return;
  }
  const [most, rest] =
    key?.mode === "credit"
      ? [`cost up to ${creditsFromNano(amount)} credits`, `${creditsFromNano(left)} credits`]
      : [`use up to ${amount} tokens`, `${left} tokens`];
  throw new GatewayError(
    "limit_reached",
    `This request could ${most}, but the playground can spend only ${rest} more with this key. Lower \`max_tokens\`, or reload the page.`,
  );
}

import { GatewayError } from "../base/errors.ts";
import { type HoldTokens, holdAmount } from "../catalog/price.ts";
import type { ModelSettings } from "../config/settings.ts";
import type { Hold } from "../ledger/ledger.ts";
import type { KeyRecord } from "../store/store.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";

export interface Held {
  readonly hold: Hold;
  /** What it was priced for. */
  readonly held: HoldTokens;
}

/**
 * Sets aside what the call may cost. The cheap estimate of the input is an upper bound, so it may admit and not
 * refuse: what it would refuse is counted, and the count decides. Nothing is awaited where the estimate fits.
 */
export function holdFor(
  gateway: Gateway,
  exchange: Exchange,
  key: KeyRecord,
  model: ModelSettings,
  estimated: HoldTokens,
  requestBytes: Uint8Array,
): Held | Promise<Held> {
  const { catalog, settings } = gateway.configured;
  const price = catalog.holdPrice(model);
  const asked = exchange.askedExtras?.most ?? null;
  const amountOf = (tokens: HoldTokens) =>
    holdAmount(key.mode, tokens, price, settings.microUsdPerCredit, asked);
  const take = (held: HoldTokens): Held => {
    const request = { keyId: key.id, exchangeId: exchange.id, model: model.id, amount: amountOf(held) };
    return { hold: gateway.ledger.hold(request), held };
  };
  try {
    return take(estimated);
  } catch (error) {
    const fitsWithoutInput = amountOf({ ...estimated, input: 0 }) < gateway.ledger.balance(key.id);
    if (!isTooLittle(error) || !fitsWithoutInput) throw error;
    return gateway.tokens
      .request(requestBytes)
      .then((counted) => take({ ...estimated, input: Math.min(counted, estimated.input) }));
  }
}

function isTooLittle(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  return error.code === "insufficient_credit" || error.code === "balance_temporarily_reserved";
}

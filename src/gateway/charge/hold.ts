import { GatewayError } from "../../base/errors.ts";
import { type HoldTokens, holdAmount } from "../../catalog/price.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { Bill } from "./bill.ts";

/** Who pays for a call, and what it may use at most. */
export interface HoldRequest {
  readonly key: KeyRecord;
  readonly model: ModelSettings;
  /** The input is a cheap estimate, an upper bound. */
  readonly atMost: HoldTokens;
  /** For an exact count of the input, where the estimate does not fit. */
  readonly requestBytes: Uint8Array;
}

/**
 * Sets aside what a call may cost. The estimate of the input is an upper bound, so it can admit a call but not refuse
 * it: where it does not fit, the input is counted, and the count decides. Only that has to be awaited.
 */
export function holdFor(gateway: Gateway, exchange: Exchange, wanted: HoldRequest): Bill | Promise<Bill> {
  const { key, model, atMost, requestBytes } = wanted;
  const { catalog, settings } = exchange.configured;
  const { microUsdPerCredit } = settings;
  const price = catalog.holdPrice(model);
  const extras = exchange.askedExtras?.most ?? null;
  const amountOf = (tokens: HoldTokens) => holdAmount(key.mode, tokens, price, microUsdPerCredit, extras);
  const take = (held: HoldTokens): Bill => {
    const request = { keyId: key.id, exchangeId: exchange.id, model: model.id, amount: amountOf(held) };
    const hold = gateway.ledger.hold(request);
    exchange.hold = hold;
    return new Bill({ terms: gateway, microUsdPerCredit, exchange, key, hold, held });
  };
  try {
    return take(atMost);
  } catch (error) {
    const fitsWithoutInput = amountOf({ ...atMost, input: 0 }) < gateway.ledger.balance(key.id);
    if (!isTooLittle(error) || !fitsWithoutInput) throw error;
    return gateway.tokens
      .request(requestBytes)
      .then((counted) => take({ ...atMost, input: Math.min(counted, atMost.input) }));
  }
}

function isTooLittle(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  return error.code === "insufficient_credit" || error.code === "balance_temporarily_reserved";
}

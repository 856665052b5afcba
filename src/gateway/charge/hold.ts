import { type HoldTokens, holdAmount } from "../../catalog/price.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { Hold } from "../../ledger/accounts.ts";
import { TooLittle } from "../../ledger/refusals.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { Bill } from "./bill.ts";

/** Who pays for a call, and what it may use at most. */
export interface WantedHold {
  readonly key: KeyRecord;
  readonly model: ModelSettings;
  /** The input is a cheap estimate, an upper bound. */
  readonly atMost: HoldTokens;
  /** For an exact count of the input, where the estimate does not fit. */
  readonly requestBytes: Uint8Array;
}

/**
 * Sets aside what a call may cost. The estimate of the input is an upper bound, so it can admit a call but not refuse
 * it: where it does not fit, the input is counted, and the count decides. With accounts in memory only that has to be
 * awaited.
 */
export function holdFor(gateway: Gateway, exchange: Exchange, wanted: WantedHold): Bill | Promise<Bill> {
  const { key, model, atMost, requestBytes } = wanted;
  const { catalog, settings } = exchange.configured;
  const { microUsdPerCredit } = settings;
  const price = catalog.holdPrice(model);
  const extras = exchange.askedExtras?.most ?? null;
  const amountOf = (tokens: HoldTokens) => holdAmount(key.mode, tokens, price, microUsdPerCredit, extras);
  const billFor = (held: HoldTokens, hold: Hold): Bill => {
    exchange.hold = hold;
    return new Bill({ terms: gateway, microUsdPerCredit, exchange, key, hold, held });
  };
  const take = (held: HoldTokens): Bill | Promise<Bill> => {
    const request = { keyId: key.id, exchangeId: exchange.id, model: model.id, amount: amountOf(held) };
    const hold = gateway.accounts.hold(request);
    return hold instanceof Promise ? hold.then((given) => billFor(held, given)) : billFor(held, hold);
  };
  const takeCounted = async (error: unknown): Promise<Bill> => {
    const fitsWithoutInput = error instanceof TooLittle && amountOf({ ...atMost, input: 0 }) < error.balance;
    if (!fitsWithoutInput) throw error;
    const counted = await gateway.tokens.request(requestBytes);
    return take({ ...atMost, input: Math.min(counted, atMost.input) });
  };
  try {
    const taken = take(atMost);
    return taken instanceof Promise ? taken.catch(takeCounted) : taken;
  } catch (error) {
    return takeCounted(error);
  }
}

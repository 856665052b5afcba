import { assert } from "../../base/assert.ts";
import { GatewayError } from "../../base/errors.ts";
import { creditsFromNano, unaffordableNano } from "../../base/money/money.ts";
import { noCalls } from "../../base/usage/usage.ts";
import { type HoldTokens, holdAmount } from "../../catalog/price.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { Hold, HoldRequest } from "../../ledger/accounts.ts";
import { TooLittle } from "../../ledger/hold-errors.ts";
import type { KeyRecord } from "../../store/store.ts";
import { clientClosedRequest, type Exchange } from "../exchange/exchange.ts";
import type { Gateway, LocalCounts } from "../exchange/gateway.ts";
import { isAbandoned, settleAbandoned } from "./abandoned.ts";
import { CostMeter } from "./cost-meter.ts";
import type { RequestedExtras } from "./extras.ts";
import type { UsageEvidence } from "./usage-evidence.ts";

/** The key that pays for a call, and the most that the call can use. */
export interface WantedHold {
  readonly key: KeyRecord;
  readonly model: ModelSettings;
  /** The alias that the client named the model by; null if it was the model's id. */
  readonly requestedModel: string | null;
  /** Requested features that cost more than the request's tokens; null for none. */
  readonly extras: RequestedExtras | null;
  /** The input is an upper bound. */
  readonly atMost: HoldTokens;
  /** The estimated input, and the most output: for limits of tokens per minute, which are corrected afterwards. */
  readonly usual: Pick<HoldTokens, "input" | "output">;
  /** The part of the input that is not in the request: a conversation that the provider has stored. */
  readonly storedInput: number;
  /** For an exact count of the request, if the upper bound does not fit. */
  readonly requestBytes: Uint8Array;
  /** False if it has attachments whose tokens only the provider can count. */
  readonly canBeCounted: boolean;
  /** Counts the input; absent for generation, which is counted elsewhere. */
  countInput?(): Promise<number>;
}

/** A hold is large if the remaining amount allows fewer than this many more like it. */
const manyInFlight = 16;

/**
 * Sets aside what a call may cost. The input's upper bound is cheap and several times what prose has, so it can admit a call
 * but not reject it: where it does not fit, the input is counted, and the count decides. The same where it fits and is much of what is left,
 * so that requests in flight do not keep each other out.
 */
export async function holdFor(gateway: Gateway, exchange: Exchange, wanted: WantedHold): Promise<CostMeter> {
  assert(exchange.taken.hold === null, "an exchange has one hold");
  const { accounts, tokens } = gateway;
  let held = wanted.atMost;
  let hold: Hold | null = null;
  try {
    hold = await accounts.hold(requestFor(exchange, wanted, held));
  } catch (error) {
    held = await countedOrThrow(tokens, exchange, wanted, error);
  }
  if (hold !== null && isMuch(exchange, wanted, hold, accounts.remaining(hold))) {
    try {
      held = await counted(tokens, wanted);
    } finally {
      accounts.release(hold);
    }
    hold = null;
  }
  // Nothing is awaited between the release and this. On SQLite no other call gets in. On PostgreSQL both usually share a batch, which
  // ends holds before it opens others, under the account's lock. A full batch may separate them: then another call can take the
  // amount first, and this one is rejected as if it had come later. Nothing is held or charged twice.
  hold ??= await accounts.hold(requestFor(exchange, wanted, held));
  exchange.taken.hold = hold;
  await takeShare(gateway, exchange, hold.amount);
  return meterOf(gateway, exchange, wanted, hold, held);
}

/** Continues with what an earlier run has set aside. */
export function resumeHold(gateway: Gateway, exchange: Exchange, wanted: WantedHold, hold: Hold): CostMeter {
  exchange.taken.hold = hold;
  return meterOf(gateway, exchange, wanted, hold);
}

function meterOf(
  terms: Gateway,
  exchange: Exchange,
  { key, extras: requestedExtras, atMost }: WantedHold,
  hold: Hold,
  held: HoldTokens = atMost,
): CostMeter {
  const { microUsdPerCredit } = exchange.configured.settings;
  return new CostMeter({ terms, microUsdPerCredit, exchange, key, hold, held, requestedExtras });
}

/**
 * Sets aside what the call may cost at another model, in place of what is held: one of its fallbacks, or the model itself again. Returns
 * the error of the limit that denies it; the former hold stays then.
 */
export async function holdForModel(
  { accounts, tokens, playground }: Pick<Gateway, "accounts" | "tokens" | "playground">,
  meter: CostMeter,
  wanted: WantedHold,
  model: ModelSettings,
): Promise<GatewayError | null> {
  const { exchange, hold } = meter;
  const fallback = model === exchange.model ? null : model;
  const named = fallback === null ? wanted.requestedModel : (wanted.requestedModel ?? wanted.model.id);
  const other: WantedHold = { ...wanted, model, requestedModel: named };
  const replace = async (held: HoldTokens) => {
    const { keyId: _, exchangeId: __, ...by } = requestFor(exchange, other, held);
    await takeShare({ playground }, exchange, by.amount);
    await accounts.replace(hold, { ...by, labels: exchange.labelsFor(model) });
    meter.held = held;
  };
  try {
    await replace(meter.held).catch(async (error) =>
      replace(await countedOrThrow(tokens, exchange, other, error)),
    );
  } catch (error) {
    if (error instanceof GatewayError && error.denied !== undefined) return error;
    throw error;
  }
  exchange.fallback = fallback;
  return null;
}

/**
 * Runs a function that calls a provider and responds. By its end the meter is settled or, for a stream, passed to the
 * pump of the exchange, which settles it when the stream ends. If it fails, nothing is charged, unless the client has
 * disconnected from a call that the provider may bill.
 */
export async function settledOrReleased<Answer>(
  gateway: Gateway,
  exchange: Exchange,
  wanted: Pick<UsageEvidence, "requestBytes" | "countInput">,
  meter: CostMeter,
  run: () => Promise<Answer>,
): Promise<Answer> {
  try {
    const answer = await run();
    assert(!meter.isOpen || exchange.pump !== null, "an answer leaves unpaid");
    return answer;
  } catch (error) {
    try {
      if (meter.isOpen && isAbandoned(exchange)) {
        await settleAbandoned(gateway, meter, wanted, exchange.answeredWith(clientClosedRequest));
      }
    } finally {
      meter.release();
    }
    throw error;
  }
}

/** Only if the input is a good part of the hold, because a count lowers nothing else. */
function isMuch(exchange: Exchange, wanted: WantedHold, { amount }: Hold, left: number): boolean {
  if (left >= amount * manyInFlight || !wanted.canBeCounted) return false;
  return amountOf(exchange, wanted, withoutRequest(wanted)) < amount * 0.75;
}

function requestFor(exchange: Exchange, wanted: WantedHold, held: HoldTokens): HoldRequest {
  const { key, model, requestedModel } = wanted;
  return {
    keyId: key.id,
    exchangeId: exchange.id,
    model: model.id,
    requestedModel,
    labels: exchange.labels,
    amount: amountOf(exchange, wanted, held),
    isInFlight: exchange.call.origin.isInteractive,
  };
}

/** Prices a call by the moment of its hold, which is now. Returns true if a price has begun since its features were priced. */
export function priceNow(exchange: Exchange): boolean {
  const before = exchange.pricedAtMs;
  exchange.pricedAtMs = Math.max(before, exchange.clock.wallMs());
  return exchange.configured.catalog.beginsPrice(before, exchange.pricedAtMs);
}

/** What is set aside for these tokens. */
export function amountOf(
  exchange: Pick<Exchange, "configured" | "pricedAtMs">,
  { key, model, extras: requestedExtras }: WantedHold,
  held: HoldTokens,
): number {
  const { catalog, settings } = exchange.configured;
  const price = catalog.holdPrice(model, exchange.pricedAtMs);
  const amount = holdAmount(key.mode, held, price, settings.microUsdPerCredit, requestedExtras?.most ?? null);
  if (requestedExtras === null || requestedExtras.rounds.length === 0) return amount;
  const extras = { ...requestedExtras.most, calls: noCalls };
  const sum = requestedExtras.rounds.reduce((before, { other, times }) => {
    const tokens = { ...held, output: other?.maxOutputTokens ?? held.output };
    const itsPrice = other === null ? price : other.price;
    return before + times * holdAmount(key.mode, tokens, itsPrice, settings.microUsdPerCredit, extras);
  }, amount);
  return key.mode === "credit" ? Math.min(sum, unaffordableNano) : sum;
}

/** The amounts to hold if the upper bound does not fit. Throws the error if a count would not fit either. */
async function countedOrThrow(
  tokens: LocalCounts,
  exchange: Exchange,
  wanted: WantedHold,
  error: unknown,
): Promise<HoldTokens> {
  const fitsWithoutRequest =
    error instanceof TooLittle && amountOf(exchange, wanted, withoutRequest(wanted)) < error.balance;
  if (!fitsWithoutRequest || !wanted.canBeCounted) throw error;
  return counted(tokens, wanted);
}

async function counted(tokens: LocalCounts, wanted: WantedHold): Promise<HoldTokens> {
  const { atMost, storedInput, requestBytes } = wanted;
  const count = await (wanted.countInput?.() ?? tokens.of(wanted.key.id).requestAtMost(requestBytes));
  return { ...atMost, input: Math.min(storedInput + count, atMost.input) };
}

function withoutRequest({ atMost, storedInput }: WantedHold): HoldTokens {
  return { ...atMost, input: storedInput };
}

/**
 * Takes the call's possible cost from the amount of the playground's secret, in addition to the hold. All gateways use
 * the store for this, so the secret spends its amount only once. A call takes as much as the most expensive model in
 * its hold.
 */
async function takeShare(
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

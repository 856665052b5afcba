import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { coversModel } from "../../base/models/model-pattern.ts";
import type { TpmLimit } from "../../base/models/tpm-limit.ts";
import type { BucketLimit, ReserveVerdict } from "../../limits/bucket.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Gateway } from "../exchange/gateway.ts";
import type { WantedHold } from "./hold.ts";

interface OwnedLimit extends BucketLimit, TpmLimit {
  readonly owner: "key" | "account";
}

/**
 * Reserves the tokens that a request may use in every limit of tokens per minute that applies to it: its estimated
 * input, and the most output. Rejects if it exceeds one of them, or has to wait.
 */
export async function reserveTokens(gateway: Gateway, exchange: Exchange, wanted: WantedHold): Promise<void> {
  const { key, model, usual } = wanted;
  const limits = limitsFor(key, model.id);
  if (limits.length === 0) return;
  const amount = Math.max(1, Math.ceil(usual.input + usual.output));
  const lowestLimit = limits.reduce((one, other) => (other.limit < one.limit ? other : one));
  if (amount > lowestLimit.limit) throw aboveLimit(wanted, amount, lowestLimit);
  const verdict = await gateway.rateLimits.reserve(limits, amount);
  exchange.taken.reservedTokens = { buckets: limits, amount, verdict };
  if (!verdict.allowed) throw mustWait(limits, amount, verdict);
}

/** Returns reserved tokens, before others are reserved for a different model. */
export function returnTokens({ rateLimits }: Gateway, { taken }: Exchange): void {
  if (taken.reservedTokens === null) return;
  const { buckets, amount } = taken.reservedTokens;
  taken.reservedTokens = null;
  rateLimits.correct(buckets, amount);
}

function limitsFor(
  { id, tpmLimits, accountId, accountTpmLimits }: KeyRecord,
  model: string,
): readonly OwnedLimit[] {
  const ownedLimits = (limits: readonly TpmLimit[] | null, ownerId: string, owner: OwnedLimit["owner"]) =>
    (limits ?? [])
      .filter(({ models }) => coversModel(models, model))
      .map(({ limit, models }) => {
        const name = `${ownerId}:tpm:${models ?? ""}`;
        return { name, capacity: limit, limit, models, owner };
      });
  return [...ownedLimits(tpmLimits, id, "key"), ...ownedLimits(accountTpmLimits, accountId, "account")];
}

function aboveLimit({ usual }: WantedHold, amount: number, limit: OwnedLimit): GatewayError {
  return invalidRequest(
    `This request can use up to ${amount} tokens (${Math.ceil(usual.output)} of output), but ${nameOf(limit)}. ` +
      "Lower `max_tokens`, or ask the operator to raise the limit.",
  );
}

function mustWait(limits: readonly OwnedLimit[], amount: number, verdict: ReserveVerdict): GatewayError {
  const { at, remaining, retryAfterSeconds } = verdict;
  const limit = limits[at] as OwnedLimit;
  return new GatewayError(
    "rate_limit_exceeded",
    `This request can use up to ${amount} tokens, but ${nameOf(limit)}, and ${remaining} are left now. ` +
      `Retry in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  );
}

function nameOf({ owner, limit, models }: OwnedLimit): string {
  return `this ${owner}'s limit is ${limit} tokens per minute${models === null ? "" : ` for ${models}`}`;
}

import { costNano, outputTokensOf, owedNanoUsd, readRates, tokensOf } from "../base/money/rates.ts";
import { chargedAttempt } from "../store/attempt-sums.ts";
import {
  type AttemptCount,
  type AttemptTarget,
  type HoldProgress,
  heldFor,
  type JournaledOutcome,
  type JournaledStore,
  type JournalItem,
  StoreError,
  type StoreProblem,
} from "../store/store.ts";
import type { SettleParts } from "./account.ts";
import { settleItem } from "./hold.ts";

const holdsPerCommit = 500;
const defaultTimeoutMs = 10_000;

/**
 * Ends the holds that a crash left open: each is charged for what it had produced, without a usage record. Resolves
 * when all charges are durable. The journal retries for ever, which is right for a running gateway. A start that
 * cannot write fails with the reason instead of hanging, and leaves the holds to the next start.
 */
export async function recoverHolds(
  store: JournaledStore,
  holds: readonly HoldProgress[],
  settle: (hold: HoldProgress, atMs: number) => SettleParts,
  atMs: number,
  timeoutMs = defaultTimeoutMs,
): Promise<void> {
  const items = holds.map((hold) => interruptedItem(hold, settle(hold, atMs), atMs));
  const commits: Promise<void>[] = [];
  for (let from = 0; from < items.length; from += holdsPerCommit) {
    commits.push(store.commit(items.slice(from, from + holdsPerCommit)));
  }
  const writing = Promise.all(commits);
  const gaveUp = Promise.withResolvers<never>();
  const timer = setInterval(() => {
    if (store.problem !== null) gaveUp.reject(unwritable(store.problem, holds.length));
  }, timeoutMs);
  try {
    await Promise.race([writing, gaveUp.promise]);
  } finally {
    clearInterval(timer);
    // The store was closed after a start that gave up, which has been reported.
    writing.catch(() => {});
  }
}

function unwritable({ reason, advice }: StoreProblem, holds: number): StoreError {
  return new StoreError(
    "unwritable",
    `The charges of ${holds} interrupted requests cannot be written, so the gateway does not start. ${reason} ${advice} ` +
      "Nothing was lost.",
  );
}

function interruptedItem(hold: HoldProgress, settled: SettleParts, atMs: number): JournalItem {
  return settleItem(
    { holdId: hold.holdId, hasRow: true, held: heldFor(hold), atMs, record: null },
    interruption(hold, atMs),
    settled,
  );
}

/** The charge of a hold whose process died: its output so far, without a usage record. */
export function interruption(hold: HoldProgress, atMs: number): JournaledOutcome {
  const { holdId, keyId, openedAtMs, chargeSoFar, rates, quantities, served, model, labels } = hold;
  return {
    cost: chargeSoFar,
    rates,
    quantities,
    basis: "estimated",
    outcome: "interrupted",
    provider: "",
    listCostNano: null,
    record: null,
    response: null,
    outcomeRecord: {
      exchangeId: holdId,
      keyId,
      atMs,
      startedAtMs: openedAtMs,
      route: "",
      model,
      provider: "",
      upstreamModel: "",
      stream: true,
      outcome: "interrupted",
      status: null,
      code: null,
      message: null,
      firstByteMs: null,
      totalMs: null,
      attempts: 1,
      attemptDetails: [],
      alike: 0,
      labels,
      bound: null,
      needed: null,
    },
    attempts: served === null ? [] : [interruptedAttempt(served, hold)],
  };
}

/** Counts the attempt from what was charged for it: the provider's own usage was not journaled. */
export function interruptedAttempt(
  served: AttemptTarget,
  { quantities, rates }: Pick<HoldProgress, "quantities" | "rates">,
): AttemptCount {
  const used = quantities ?? {};
  const outputTokens = outputTokensOf(used);
  const kept = rates === null ? null : readRates(rates.text);
  return chargedAttempt(served, {
    outcome: "interrupted",
    isEstimated: true,
    reported: null,
    inputTokens: tokensOf(used) - outputTokens,
    outputTokens,
    owedNanoUsd: kept === null ? 0 : owedNanoUsd(kept, used, costNano(kept, used)),
  });
}

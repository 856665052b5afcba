import { assert } from "../../base/assert.ts";
import { type Quantities, tokensOf } from "../../base/money/rates.ts";
import {
  type ExtraUsage,
  noCalls,
  nothingReported,
  noUsage,
  type ReportedExtras,
  type ReportedUsage,
  totalInput,
  type Usage,
  type UsageBasis,
  unreported,
} from "../../base/usage/usage.ts";
import { type HoldTokens, priceAt } from "../../catalog/price.ts";
import { priced } from "../../catalog/priced-usage.ts";
import { lowRequestCount } from "../../catalog/tokens/low-count.ts";
import { isSpoken } from "../../dialects/registry.ts";
import { isClaude } from "../../dialects/target/model-traits.ts";
import type { Accounts, Hold, Settlement } from "../../ledger/accounts.ts";
import type {
  KeyRecord,
  Outcome,
  OutcomeRecord,
  PricedCharge,
  StoredResponse,
  TurnRecord,
} from "../../store/store.ts";
import { outcomeRecordOf, usageRecordOf } from "../exchange/end-exchange.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { LocalCounts } from "../exchange/gateway.ts";
import { runsBeside } from "./advisors.ts";
import { type RequestedExtras, usedExtras, withoutDropped } from "./extras.ts";
import {
  atLeast,
  clampUsage,
  doubtZeros,
  isMeasured,
  isOutputSure,
  type UsageEvidence,
} from "./usage-evidence.ts";

/** A cancelled call with more than this is counted exactly, even if the tokenizer has to be loaded, which takes a second. */
const maxLowCountedBytes = 4096;

/** The usage to charge, whether it was measured, and the evidence for it. */
interface UsedEvidence {
  readonly usage: Usage;
  readonly basis: UsageBasis;
  readonly evidence: UsageEvidence;
}

interface MeteredCharge extends PricedCharge {
  readonly owedNanoUsd: number;
}

export interface CostMeterParts {
  /** The parts of the gateway that it needs. */
  readonly terms: { readonly accounts: Accounts; readonly tokens: LocalCounts };
  readonly microUsdPerCredit: number;
  readonly exchange: Exchange;
  readonly key: KeyRecord;
  readonly hold: Hold;
  readonly held: HoldTokens;
  /** Requested features that cost more than the request's tokens. */
  readonly requestedExtras: RequestedExtras | null;
}

/** A charge as the client is shown it. */
export interface ShownCharge {
  readonly cost: number;
  readonly quantities: Quantities | null;
}

/**
 * The money of one exchange, from its hold to its end. It ends exactly once: a second settle or release finds the hold
 * closed and changes nothing.
 */
export class CostMeter {
  readonly #parts: Omit<CostMeterParts, "held">;
  /** The tokens that the hold was priced for: no estimate is charged above them. */
  held: HoldTokens;
  /** The turns that the settle stores together with the charge. */
  turns: readonly TurnRecord[] | undefined = undefined;
  /** Usage so far that costs more than tokens. */
  #extras: ExtraUsage | null = null;
  /** The charge with calls of dropped tools: the provider bills them, and the client did not ask for them. */
  #billedExtras: ExtraUsage | null = null;
  #estimated: Promise<Usage> | null = null;
  #lowInput: number | null = null;

  constructor(parts: CostMeterParts) {
    this.#parts = parts;
    this.held = parts.held;
  }

  get isOpen(): boolean {
    return this.#parts.hold.state === "open";
  }

  get exchange(): Exchange {
    return this.#parts.exchange;
  }

  get key(): KeyRecord {
    return this.#parts.key;
  }

  get hold(): Hold {
    return this.#parts.hold;
  }

  /** The remaining amount of the tightest limit, in nano-credits or tokens; infinite without one. */
  get remaining(): number {
    const { terms, hold } = this.#parts;
    return terms.accounts.remaining(hold);
  }

  /** The part of the charge that follows from the request alone. */
  announced(): ShownCharge {
    return this.#chargeFor(noUsage);
  }

  /** What was charged. */
  get shown(): ShownCharge {
    const { exchange, hold } = this.#parts;
    return { cost: hold.charged, quantities: exchange.charge?.quantities ?? null };
  }

  /** Takes what the provider reports in addition to tokens; null if it has not reported anything yet. */
  noteExtras(reported: ReportedExtras | null): void {
    const { exchange, requestedExtras } = this.#parts;
    if (requestedExtras === null && (reported ?? nothingReported) === nothingReported) {
      this.#billedExtras = this.#extras = null;
      return;
    }
    const { deployment } = exchange.attempts;
    const { dialect } = exchange.call.route;
    const isTranslated = dialect !== null && deployment !== null && !isSpoken(dialect, deployment.dialects);
    const price = priceAt(deployment?.price ?? null, exchange.pricedAtMs);
    const model = deployment?.model;
    const used = usedExtras(requestedExtras, exchange.dropped, price, reported, isTranslated, model);
    this.#billedExtras = used;
    this.#extras = used && withoutDropped(used, exchange, requestedExtras, isTranslated);
  }

  /** No tool is known to have been called. */
  noteNoCalls(): void {
    if (this.#extras !== null) this.#extras = { ...this.#extras, calls: noCalls };
    this.#billedExtras = this.#extras;
  }

  /** Releases the hold; nothing is charged. */
  release(): void {
    const { terms, hold } = this.#parts;
    terms.accounts.release(hold);
  }

  /**
   * Journals the call's cost so far, which is charged after a crash. If it has to be counted, it is at or below the
   * charge of `settle`: the tokenizer would take 100 MB and a thread for counts that are hardly ever needed.
   */
  progress(evidence: UsageEvidence, estimatedInput: number): void {
    const { terms, hold } = this.#parts;
    const reported = this.#believed(evidence);
    const isKnown = isMeasured(reported, evidence);
    const usage = isKnown ? reported : this.#estimateLow(reported, evidence, estimatedInput);
    terms.accounts.progress(hold, this.#chargeFor(usage));
  }

  #estimateLow(reported: ReportedUsage, evidence: UsageEvidence, estimatedInput: number): Usage {
    const { held } = this;
    const produced = isOutputSure(reported, evidence) ? 0 : evidence.produced().lowCount();
    const input = reported.isInputDoubtful === true ? this.#countLowInput(evidence, estimatedInput) : 0;
    return atLeast(reported, Math.min(input, held.input), Math.min(produced, held.output));
  }

  /** Once: the request does not change. */
  #countLowInput({ requestBytes }: UsageEvidence, estimatedInput: number): number {
    this.#lowInput ??= lowRequestCount(requestBytes, estimatedInput);
    return this.#lowInput;
  }

  /**
   * Charges for the call; resolves when the charge is durable. The provider's own usage is charged at once. If it
   * throws or rejects, the hold may still be open and has to be released. `brokenBy` is why a response broke off.
   */
  settle(
    outcome: Outcome,
    evidence: UsageEvidence,
    status: number,
    response: StoredResponse | null,
    brokenBy: unknown = null,
  ): Promise<unknown> {
    const reported = this.#believed(evidence);
    const areExtrasSure = this.#extras?.isDoubtful !== true;
    if (areExtrasSure && isMeasured(reported, evidence)) {
      const used = { usage: reported, basis: "measured", evidence } as const;
      return this.#charge(outcome, used, status, response, brokenBy);
    }
    const counting = this.#estimated ?? this.#estimate(reported, evidence, outcome === "cancelled");
    return counting.then((usage) =>
      this.#charge(outcome, { usage, basis: "estimated", evidence }, status, response, brokenBy),
    );
  }

  #charge(
    outcome: Outcome,
    used: UsedEvidence,
    status: number,
    response: StoredResponse | null,
    brokenBy: unknown,
  ): Promise<unknown> {
    const { terms, exchange, hold } = this.#parts;
    const record = this.#outcomeRecordOf(outcome, status, brokenBy);
    const settling = terms.accounts.settle(hold, this.#settlement(outcome, used, status, response, record));
    if (record === null) return settling;
    return settling.then(() => {
      exchange.isOutcomeRecorded = true;
    });
  }

  /**
   * The usage that will be charged if it has to be counted here; null if the provider's own usage will be. Called once
   * the response is complete, so that `settle` need not count it again.
   */
  estimated(evidence: UsageEvidence): Promise<Usage> | null {
    const reported = this.#believed(evidence);
    if (isMeasured(reported, evidence)) return null;
    this.#estimated = this.#estimate(reported, evidence);
    return this.#estimated;
  }

  /** The amount that `settle` will charge for evidence that has to be counted, and its tokens. */
  async estimatedCost(evidence: UsageEvidence): Promise<{ readonly cost: number; readonly tokens: number }> {
    const reported = this.#believed(evidence);
    assert(!isMeasured(reported, evidence), "only what is not reported is estimated");
    this.#estimated = this.#estimate(reported, evidence, true);
    const { cost, quantities } = this.#chargeFor(await this.#estimated);
    return { cost, tokens: tokensOf(quantities) };
  }

  #believed(evidence: UsageEvidence): ReportedUsage {
    const { usage, partialUsage } = evidence;
    const { held } = this;
    const { exchange, requestedExtras } = this.#parts;
    const contextWindow = exchange.attempts.deployment?.model.contextWindow ?? null;
    const mayRepeat = requestedExtras?.mayRepeat ?? false;
    const plausible = clampUsage(usage ?? partialUsage ?? unreported, { contextWindow, mayRepeat, held });
    return doubtZeros(plausible, held, evidence);
  }

  /**
   * Takes the larger of the provider's figures and a local count where the figures are doubtful. A count is only an
   * estimate, so it is capped by what the hold was priced for. A cancelled call that is small does not wait for a tokenizer
   * that has not been loaded: its low count is charged, which is at least half of the exact one for ordinary text.
   */
  async #estimate(reported: ReportedUsage, evidence: UsageEvidence, isCancelled = false): Promise<Usage> {
    const { held } = this;
    const { terms, key } = this.#parts;
    if (isCancelled && !terms.tokens.isLoaded && isSmall(evidence)) {
      terms.tokens.load();
      return this.#estimateLow(reported, evidence, 0);
    }
    const produced = isOutputSure(reported, evidence)
      ? 0
      : await evidence.produced().count(terms.tokens.of(key.id).text);
    const input = reported.isInputDoubtful === true ? await this.#countInput(evidence) : 0;
    return atLeast(reported, Math.min(input, held.input), Math.min(produced, held.output));
  }

  #countInput({ countInput, requestBytes }: UsageEvidence): Promise<number> {
    const { exchange, key, terms } = this.#parts;
    const { deployment } = exchange.attempts;
    const isForClaude = deployment !== null && isClaude(deployment);
    return countInput?.() ?? terms.tokens.of(key.id).request(requestBytes, isForClaude);
  }

  #settlement(
    outcome: Outcome,
    { usage, basis, evidence }: UsedEvidence,
    status: number,
    response: StoredResponse | null,
    outcomeRecord: OutcomeRecord | null,
  ): Settlement {
    const { exchange } = this.#parts;
    const { attempts } = exchange;
    const charge = this.#chargeFor(usage);
    const billed = this.#billedExtras === this.#extras ? charge : this.#chargeFor(usage, this.#billedExtras);
    const { quantities } = charge;
    const facts = { usage, basis, quantities, extras: this.#extras, listCostNano: billed.listCostNano };
    exchange.charge = facts;
    return {
      cost: billed.cost,
      waived: billed.cost - charge.cost,
      rates: billed.rates,
      quantities: billed.quantities,
      listCostNano: billed.listCostNano,
      served: charge.served,
      basis,
      outcome,
      provider: attempts.deployment?.provider.settings.name ?? "",
      record: outcome === "cancelled" ? null : usageRecordOf(exchange, outcome, status, facts),
      response,
      outcomeRecord,
      attempts: attempts.charged({
        outcome,
        isEstimated: basis === "estimated",
        reported: evidence.usage ?? evidence.partialUsage,
        inputTokens: totalInput(usage),
        outputTokens: usage.outputTokens,
        owedNanoUsd: billed.owedNanoUsd,
      }),
      // A response that is replayed can be continued, too.
      turns: outcome === "completed" || response !== null ? this.turns : undefined,
    };
  }

  /** Stored in the transaction that charges. Null if the exchange completed at the first attempt, on the requested model. */
  #outcomeRecordOf(outcome: Outcome, status: number, brokenBy: unknown): OutcomeRecord | null {
    const { exchange } = this.#parts;
    const { failed, denied } = exchange.attempts;
    if (outcome === "completed" && failed.length + denied.length === 0) return null;
    return outcomeRecordOf(exchange, outcome, status, outcome === "completed" ? null : brokenBy);
  }

  /** Credit keys pay what the usage costs. Token-budget keys pay its tokens, and what it would have cost is noted. */
  #chargeFor(usage: Usage, extras = this.#extras): MeteredCharge {
    const { key, exchange, microUsdPerCredit, requestedExtras } = this.#parts;
    const { deployment, served } = exchange.attempts;
    assert(deployment !== null || key.mode !== "credit", "what a call costs depends on who has answered it");
    const { configured, pricedAtMs } = exchange;
    const price = priceAt(deployment?.price ?? null, pricedAtMs);
    const runOf = usage.rounds && runsBeside(configured.catalog, pricedAtMs, deployment, requestedExtras);
    const cost = priced(usage, price, microUsdPerCredit, extras, runOf);
    const { rates, quantities, costNano, owedNanoUsd } = cost;
    if (key.mode === "credit")
      return { cost: costNano, rates, quantities, listCostNano: null, owedNanoUsd, served };
    const listCostNano = price === null ? null : costNano;
    return { cost: tokensOf(quantities), rates, quantities, listCostNano, owedNanoUsd, served };
  }
}

function isSmall(evidence: UsageEvidence): boolean {
  const { countInput, requestBytes } = evidence;
  if (countInput !== undefined || requestBytes.length > maxLowCountedBytes) return false;
  return evidence.produced().chars <= maxLowCountedBytes;
}

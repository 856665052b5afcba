import { hasTokens } from "../../base/usage/usage.ts";
import type { StoredResponse } from "../../store/store.ts";
import { isAbandoned, settleAbandoned } from "../charge/abandoned.ts";
import { ProducedOutput, type UsageEvidence } from "../charge/usage-evidence.ts";
import { type Delivery, recordFacts } from "./pending-response.ts";
import { factsOf, type StreamRelayer } from "./stream-relayer.ts";

/** Interval for journaling a running stream's output. */
const progressEveryMs = 500;

/** Produced text that is not counted yet is part of a stream's memory; beyond this it is taken early. */
const maxProducedChars = 32 * 1024;

/** Whether a disconnect now is charged: something was produced, or the provider has reported its input. */
export function hasCharge({ meter }: StreamRelayer): boolean {
  return meter.started || hasTokens(meter.partialUsage);
}

/** The cost of a stream so far. */
export class StreamCost {
  readonly #pending: Delivery;
  readonly #relayer: StreamRelayer;
  readonly #produced = new ProducedOutput();
  #nextProgressMs: number | null = null;

  constructor(pending: Delivery, relayer: StreamRelayer) {
    this.#pending = pending;
    this.#relayer = relayer;
  }

  evidence(): UsageEvidence {
    const { usage, partialUsage: partial } = this.#relayer.meter;
    const partialUsage = partial?.isUpToDate === true || hasTokens(partial) ? partial : null;
    const produced = () => this.#takeProduced();
    return { usage, partialUsage, produced, requestBytes: this.#pending.generation.request.bytes };
  }

  takeProducedIfMuch(): void {
    if (this.#relayer.meter.producedChars > maxProducedChars) this.#takeProduced();
  }

  #takeProduced(): ProducedOutput {
    this.#produced.add(this.#relayer.meter.takeProduced());
    this.#produced.encryptedChars = this.#relayer.meter.encryptedChars;
    return this.#produced;
  }

  /**
   * Driven by the watchdog's clock and not per chunk: most streams end before their text has to be counted at all. If a
   * thousand begin together, each tick counts some of them, because counting all of them would delay every other
   * stream.
   */
  journalIfDue(nowMs: number): void {
    this.#nextProgressMs ??= nowMs + progressEveryMs * Math.random();
    if (nowMs < this.#nextProgressMs || !hasCharge(this.#relayer)) return;
    this.#nextProgressMs = nowMs + progressEveryMs;
    this.journal();
  }

  /** Journals roughly what a disconnect would cost now, so that a crash never charges more. */
  journal(): void {
    const { meter, generation } = this.#pending;
    meter.noteExtras(this.#relayer.meter.extras);
    meter.progress(this.evidence(), generation.estimatedInput.tokens);
  }

  /** Whether anything is charged: if nothing had been produced, only a client that disconnects too often pays for the input. */
  async settleBrokenOff(
    outcome: "failed" | "cancelled",
    stored: StoredResponse | null,
    brokenBy: unknown,
  ): Promise<boolean> {
    const { call, meter, generation } = this.#pending;
    const { gateway, exchange } = call;
    // Of what is stored, they were recorded with its end.
    if (stored === null) void recordFacts(this.#pending, factsOf(this.#relayer), "");
    // What a provider bills in any case may have no tokens, and nothing before its end.
    const isWhole = exchange.outlivesClient && this.#relayer.meter.usage !== null;
    const isBegun = outcome === "cancelled" ? hasCharge(this.#relayer) : this.#relayer.meter.started;
    const isCharged = isWhole || isBegun;
    if (isCharged) {
      await meter.settle(outcome, this.evidence(), 200, stored, brokenBy);
      return true;
    }
    exchange.attempts.reported = this.#relayer.meter.usage ?? this.#relayer.meter.partialUsage;
    if (outcome === "cancelled" && isAbandoned(exchange)) {
      const counted = { requestBytes: generation.request.bytes };
      return settleAbandoned(gateway, meter, counted, 200);
    }
    meter.release();
    return false;
  }
}

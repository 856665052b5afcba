import { hasTokens } from "../../base/usage/usage.ts";
import type { ResponseRecorder } from "../../idempotency/recorder.ts";
import type { StoredResponse } from "../../store/store.ts";
import type { OpenedCall } from "../../upstream/upstream.ts";
import { isAbandoned, settleAbandoned } from "../charge/abandoned.ts";
import { ProducedOutput, type UsageEvidence } from "../charge/usage-evidence.ts";
import { bytesOf, type Piece } from "../exchange/client-call.ts";
import {
  asCreated,
  type Delivery,
  factsOf,
  recordFacts,
  type StreamRelayer,
  streamHeaders,
} from "./pending-response.ts";

/** Interval for journaling a running stream's output. */
const progressEveryMs = 500;

/** Produced text that is not counted yet is part of a stream's memory; beyond this it is taken early. */
const maxProducedChars = 32 * 1024;

/** Whether a disconnect now is charged: something was produced, or the provider has reported its input. */
export function hasCharge({ found }: StreamRelayer): boolean {
  return found.started || hasTokens(found.partialUsage);
}

/** The cost of a stream so far. */
export class StreamCost {
  readonly #delivery: Delivery;
  readonly #relayer: StreamRelayer;
  readonly #produced = new ProducedOutput();
  #nextProgressMs: number | null = null;

  constructor(delivery: Delivery, relayer: StreamRelayer) {
    this.#delivery = delivery;
    this.#relayer = relayer;
  }

  evidence(): UsageEvidence {
    const { usage, partialUsage: partial } = this.#relayer.found;
    const partialUsage = partial?.isUpToDate === true || hasTokens(partial) ? partial : null;
    const produced = () => this.#takeProduced();
    return { usage, partialUsage, produced, requestBytes: this.#delivery.asking.request.bytes };
  }

  takeProducedIfMuch(): void {
    if (this.#relayer.found.producedChars > maxProducedChars) this.#takeProduced();
  }

  #takeProduced(): ProducedOutput {
    this.#produced.add(this.#relayer.found.takeProduced());
    this.#produced.encryptedChars = this.#relayer.found.encryptedChars;
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
    const { meter, estimatedInput } = this.#delivery.asking;
    meter.noteExtras(this.#relayer.found.extras);
    meter.progress(this.evidence(), estimatedInput.tokens);
  }

  /** Whether anything is charged: if nothing had been produced, only a client that disconnects too often pays for the input. */
  async settleBrokenOff(
    outcome: "failed" | "cancelled",
    stored: StoredResponse | null,
    brokenBy: unknown,
  ): Promise<boolean> {
    const { call, meter, request } = this.#delivery.asking;
    const { gateway, exchange } = call;
    // Of what is stored, they were recorded with its end.
    if (stored === null) void recordFacts(this.#delivery, factsOf(this.#relayer), "");
    // What a provider bills in any case may have no tokens, and nothing before its end.
    const isWhole = exchange.outlivesClient && this.#relayer.found.usage !== null;
    const isBegun = outcome === "cancelled" ? hasCharge(this.#relayer) : this.#relayer.found.started;
    const isCharged = isWhole || isBegun;
    if (isCharged) {
      await meter.settle(outcome, this.evidence(), 200, stored, brokenBy);
      return true;
    }
    exchange.attempts.reported = this.#relayer.found.usage ?? this.#relayer.found.partialUsage;
    if (outcome === "cancelled" && isAbandoned(exchange)) {
      const counted = { requestBytes: request.bytes };
      return settleAbandoned(gateway, meter, counted, 200);
    }
    meter.release();
    return false;
  }
}

/** Reads what follows the end of a stream. */
type ReadTrailing = (take: (piece: Piece) => void) => Promise<void>;

/** The part of a stream that is stored for a retry with the same idempotency key; nothing without one. */
export class StreamRecording {
  /** Stored by the settle; null until the stream has ended. */
  stored: StoredResponse | null = null;
  readonly #recorder: ResponseRecorder | null;

  constructor(recorder: ResponseRecorder | null) {
    this.#recorder = recorder;
  }

  get isKept(): boolean {
    return this.#recorder !== null;
  }

  add(piece: Piece): void {
    this.#recorder?.append(bytesOf(piece));
  }

  /** Returns the pieces that end the stream. A recording has to be whole before the charge, trailing bytes included. */
  async end(terminal: Piece, readTrailing: ReadTrailing): Promise<readonly Piece[]> {
    const end = [terminal];
    if (this.#recorder === null) return end;
    await readTrailing((piece) => void end.push(piece));
    for (const piece of end) this.add(piece);
    this.stored = await this.#recorder.finish({ status: 200, headers: streamHeaders });
    return end;
  }
}

/** How long bytes can follow the proper end. Reading them makes the provider's connection reusable. */
export const trailingMs = 1000;

/**
 * Maximum number of trailing bytes to read. A recorded stream keeps them until it is settled, so they count toward its
 * memory.
 */
const maxTrailingBytes = 64 * 1024;

/**
 * Reads what follows the proper end of a provider's stream. A provider that disconnects, stalls or keeps sending there does
 * no harm.
 */
export async function readTrailing(
  opened: OpenedCall,
  relayer: StreamRelayer,
  take: (piece: Piece) => Promise<void> | undefined | void,
): Promise<void> {
  let bytes = 0;
  try {
    for (let chunk = await opened.read(); chunk !== null; chunk = await opened.read()) {
      bytes += chunk.length;
      if (bytes > maxTrailingBytes) break;
      const piece = relayer.push(chunk);
      if (piece.length > 0) await take(piece);
    }
  } catch {
    // What was read before is delivered.
  }
  // Nothing is left to end of a body that was read to its end.
  opened.abort();
}

/**
 * Returns the pieces that end a stream, with the usage that is charged. They are recorded, and the continuable part of
 * the response is ready to be stored.
 */
export async function takeEnd(
  delivery: Delivery,
  relayer: StreamRelayer,
  evidence: UsageEvidence,
  recording: StreamRecording,
  read: ReadTrailing,
): Promise<readonly Piece[]> {
  // Clients are shown what they are charged.
  const estimating = delivery.asking.meter.estimated(evidence);
  if (estimating !== null) relayer.showUsage(await estimating);
  const terminal = await asCreated(delivery.asking.call, relayer.terminal());
  const end = await recording.end(terminal, read);
  await recordFacts(delivery, factsOf(relayer), terminal);
  return end;
}

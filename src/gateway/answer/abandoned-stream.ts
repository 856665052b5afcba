import type { OpenedCall } from "../../upstream/upstream.ts";
import { hasCharge } from "./stream-cost.ts";
import type { StreamRelayer } from "./stream-relayer.ts";

/** How long to wait for the usage event after the last text. */
const restMs = 2000;

/** How long to wait for the next event, which shows whether a text was the last. The provider is disconnected within 50 ms. */
const silenceMs = 25;

/** Whether the provider has reported what the answer costs. */
function isUsageKnown({ usage, partialUsage }: StreamRelayer): boolean {
  return usage !== null || partialUsage?.isUpToDate === true;
}

export interface AbandonedStreamActions {
  /** Passes bytes to the relayer, and nothing to the client. */
  push(chunk: Uint8Array): Promise<void>;
  /** The stream, or the provider's body, has ended. */
  end(): Promise<void>;
  /** Called once. */
  settle(): void;
}

/**
 * A provider's stream whose client has disconnected. In the middle of a text the provider is disconnected at once. After the last
 * text the rest is read, because the usage is there: otherwise it would cost nothing to disconnect just before it.
 */
export class AbandonedStream {
  readonly #opened: OpenedCall;
  readonly #relayer: StreamRelayer;
  readonly #actions: AbandonedStreamActions;
  readonly #runsToEnd: boolean;
  readonly #sinceMs = performance.now();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isOver = false;

  /** `runsToEnd`: the provider bills all of it anyway, so it is read to its end. */
  constructor(
    opened: OpenedCall,
    relayer: StreamRelayer,
    actions: AbandonedStreamActions,
    runsToEnd = false,
  ) {
    this.#runsToEnd = runsToEnd;
    this.#opened = opened;
    this.#relayer = relayer;
    this.#actions = actions;
  }

  /** Disconnects from the provider now, or once nothing that is charged has come for too long. */
  begin(): void {
    const relayer = this.#relayer;
    if (this.#runsToEnd) return;
    if (!hasCharge(relayer) || isUsageKnown(relayer)) this.leave();
    else this.#leaveAfter(relayer.hasEndedText() ? restMs : silenceMs);
  }

  /** Safe to call more than once. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#opened.abort();
    this.#actions.settle();
  }

  /** Reads what has been received already, and what follows a text that has ended. Rejects if the stream breaks off. */
  async read(first: Uint8Array | null): Promise<void> {
    const relayer = this.#relayer;
    for (let chunk = first; chunk !== null; ) {
      if (this.#isOver) return;
      if (chunk.length > 0) await this.#actions.push(chunk);
      if (relayer.ended) break;
      if (relayer.brokenBy !== null || isUsageKnown(relayer)) return;
      const next = this.#opened.read();
      if (next instanceof Promise && !this.#runsToEnd) this.#decideToWait();
      chunk = next instanceof Promise ? await next : next;
    }
    if (!this.#isOver) await this.#actions.end();
  }

  /** Nothing more has been received. */
  #decideToWait(): void {
    if (this.#relayer.hasEndedText()) this.#leaveAfter(restMs);
    else this.leave();
  }

  #leaveAfter(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const remainingMs = this.#sinceMs + ms - performance.now();
    this.#timer = setTimeout(() => this.leave(), Math.max(0, remainingMs));
  }
}

import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { reasons } from "../../dialects/target/model-traits.ts";
import type { OpenedCall } from "../../upstream/upstream.ts";
import { targetOf } from "../attempt/generation.ts";
import type { StreamRelayer } from "./pending-response.ts";
import { hasCharge } from "./stream-cost.ts";

/** How long to wait for the usage event after the last text. */
const restMs = 2000;

/** Minimum time that a stream can be silent in the middle of a text. */
const minSilenceMs = 25;

const nothing = new Uint8Array(0);

/** Whether the provider has reported the response's usage. */
function isUsageKnown({ found }: StreamRelayer): boolean {
  return found.usage !== null || found.partialUsage?.isUpToDate === true;
}

/** Whether the model may have reasoned without showing it: then the usage is worth waiting for. */
function mayReason({ deployment }: OpenedCall, { found }: StreamRelayer): boolean {
  if (found.encryptedChars > 0 || (found.partialUsage?.reasoningTokens ?? 0) > 0) return true;
  const [dialect] = deployment.dialects;
  return dialect !== undefined && reasons(targetOf(deployment, dialect));
}

/**
 * How long to wait for the next event, which shows whether a text was the last. `longestGapMs`: the longest gap between
 * two pieces so far.
 */
export function silenceMsOf(opened: OpenedCall, relayer: StreamRelayer, longestGapMs: number): number {
  return mayReason(opened, relayer) ? restMs : Math.max(minSilenceMs, 2 * longestGapMs);
}

/** Amount of content that was produced so far. */
function contentOf({ found }: StreamRelayer): number {
  return found.producedChars + found.encryptedChars;
}

export interface AbandonedStreamActions {
  /** Passes bytes to the relayer, and nothing to the client. */
  push(chunk: Uint8Array): Promise<void>;
  /** The stream, or the provider's body, has ended. */
  end(): Promise<void>;
  /** Called once. */
  settle(): void;
}

interface AbandonedStreamOptions {
  readonly silenceMs: number;
  /** The complete response is stored for a retry, so the usage is not sufficient. */
  readonly isKept: boolean;
  /** The provider bills all of it anyway, so it is read to its end. */
  readonly runsToEnd: boolean;
}

/**
 * A provider's stream whose client has disconnected. In the middle of a text the provider is disconnected at once. After the last
 * text the rest is read, because the usage is there: otherwise it would cost nothing to disconnect just before it.
 */
export class AbandonedStream {
  readonly #opened: OpenedCall;
  readonly #relayer: StreamRelayer;
  readonly #actions: AbandonedStreamActions;
  readonly #options: AbandonedStreamOptions;
  readonly #sinceMs = performance.now();
  /** How many bytes of what the provider had sent by then are not read yet. */
  #receivedBytes: number;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** More content arrived after the client had disconnected, so the client has not seen the last of it. */
  #hasGoneOn = false;
  #isOver = false;

  constructor(
    opened: OpenedCall,
    relayer: StreamRelayer,
    actions: AbandonedStreamActions,
    options: AbandonedStreamOptions,
  ) {
    this.#opened = opened;
    this.#receivedBytes = opened.whole.bytes;
    this.#relayer = relayer;
    this.#actions = actions;
    this.#options = options;
  }

  /** Call this while a read of the next piece is pending. Disconnects from the provider now, or after too long a silence. */
  begin(): void {
    if (!this.#options.runsToEnd) this.#leaveOrWait();
  }

  /** Safe to call more than once. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopWaiting();
    this.#opened.abort();
    this.#actions.settle();
  }

  /** For a stream that was not read before its client disconnected: its opening may have reported usage. */
  readReceived(): Promise<void> {
    return this.read(nothing, false);
  }

  /**
   * Reads the bytes that were received already, and those that follow a finished text. `wasAwaited`: the first piece
   * arrived after the client had disconnected. It is read in turns with other bodies, because a crowd may have disconnected. Rejects if
   * the stream breaks off.
   */
  async read(first: Uint8Array | null, wasAwaited: boolean): Promise<void> {
    const relayer = this.#relayer;
    let isLate = wasAwaited;
    for (let chunk = first; chunk !== null; ) {
      await bodyPacer.wait();
      if (this.#isOver) return;
      if (chunk.length > 0) await this.#push(chunk, isLate);
      if (relayer.ended) break;
      if (relayer.found.failure !== null || this.#hasAll()) return;
      const next = this.#opened.read();
      // It may have arrived while this waited for its turn.
      isLate = next instanceof Promise || (next !== null && this.#receivedBytes <= 0);
      if (isLate && !this.#options.runsToEnd) this.#leaveOrWait();
      chunk = next instanceof Promise ? await next : next;
      this.#receivedBytes -= chunk?.length ?? 0;
      // What has arrived is not silence, however long it waits for its turn.
      this.#stopWaiting();
    }
    if (this.#isOver) return;
    // What is done at the end is not interrupted.
    this.#stopWaiting();
    await this.#actions.end();
  }

  async #push(chunk: Uint8Array, isLate: boolean): Promise<void> {
    const before = contentOf(this.#relayer);
    await this.#actions.push(chunk);
    if (isLate && (this.#relayer.isRaw === true || contentOf(this.#relayer) !== before))
      this.#hasGoneOn = true;
  }

  #hasAll(): boolean {
    return isUsageKnown(this.#relayer) && !(this.#options.isKept && this.#relayer.found.hasEndedText);
  }

  /** Called when nothing more has been received. */
  #leaveOrWait(): void {
    const relayer = this.#relayer;
    if (!hasCharge(relayer) || this.#hasAll()) this.leave();
    else if (relayer.found.hasEndedText) this.#leaveAfter(restMs);
    else if (this.#hasGoneOn) this.leave();
    else this.#leaveAfter(this.#options.silenceMs);
  }

  /** Stops at most `restMs` after the client has disconnected. */
  #leaveAfter(ms: number): void {
    this.#stopWaiting();
    const remainingMs = this.#sinceMs + restMs - performance.now();
    this.#timer = setTimeout(() => this.leave(), Math.max(0, Math.min(ms, remainingMs)));
  }

  #stopWaiting(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}

import { GatewayError } from "../base/errors.ts";
import type { ResponseRecorder } from "../idempotency/recorder.ts";
import type { Opened } from "../upstream/upstream.ts";
import type { Bill, Evidence } from "./bill.ts";
import type { Exchange } from "./exchange.ts";
import { Produced } from "./produced.ts";
import type { Piece, StreamRelayer } from "./stream-relayer.ts";
import type { Guarded, Watchdog } from "./watchdog.ts";

/** Bun's direct stream: what is written leaves at once, and a full socket answers with a promise. */
interface DirectController {
  write(piece: Piece): number | Promise<number>;
  end(): void;
}

export interface StreamPumpParts {
  readonly exchange: Exchange;
  readonly opened: Opened;
  readonly relayer: StreamRelayer;
  readonly bill: Bill;
  /** Takes note of what the client has been shown; called before the exchange is settled. */
  takeNote(relayer: StreamRelayer): void;
  readonly requestBytes: Uint8Array;
  /** Only there when the request has an idempotency key. */
  readonly recorder: ResponseRecorder | null;
  /** The response's own, for a replay. */
  readonly headers: Readonly<Record<string, string>>;
  /** The cost as one comment before the end, or "" for clients that did not ask for it. */
  costComment(): string;
  readonly watchdog: Watchdog;
  /** 0 turns heartbeats off. */
  readonly heartbeatMs: number;
  readonly stalledReaderMs: number;
  readonly monotonicMs: () => number;
  /** Called once, when the stream is over in whatever way. */
  over(outcome: "completed" | "failed" | "cancelled", error: unknown): void;
}

/** How often what was produced is journaled while a stream runs. */
const progressEveryMs = 500;

/** Text that waits to be counted is part of what a stream may keep in memory, also between two progress rows. */
const mostProducedChars = 32 * 1024;

/** How long bytes may still come behind the proper end; reading them lets the provider's connection be used again. */
const trailingMs = 1000;

/**
 * Moves one provider's stream to one client. Exactly one of three things ends it: the provider's proper
 * end (settled, then the last bytes leave), a failure (settled for what was produced, then the in-band
 * error), or the client's leaving (upstream stopped, settled for what was produced).
 */
export class StreamPump implements Guarded {
  readonly #parts: StreamPumpParts;
  readonly #produced = new Produced();
  #controller: DirectController | null = null;
  #isOver = false;
  #isConcluding = false;
  #interruptedBy: GatewayError | null = null;
  #blockedSinceMs = Number.POSITIVE_INFINITY;
  #lastWriteMs: number;
  #lastProgressMs = Number.NEGATIVE_INFINITY;
  #trailingUntilMs = Number.POSITIVE_INFINITY;

  constructor(parts: StreamPumpParts) {
    this.#parts = parts;
    this.#lastWriteMs = parts.monotonicMs();
  }

  /** From now on the stream is looked after until it is over, whether or not anybody reads it. */
  begin(): void {
    this.#parts.watchdog.watch(this);
  }

  /** The body of the client's response. */
  stream(): ReadableStream {
    const source = {
      type: "direct",
      pull: (controller: DirectController) => this.#run(controller),
      cancel: () => this.clientLeft(),
    };
    return new ReadableStream(source as unknown as Bun.DirectUnderlyingSource);
  }

  async #run(controller: DirectController): Promise<void> {
    this.#controller = controller;
    try {
      await this.#pump();
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#controller = null;
      controller.end();
    }
  }

  /**
   * What has come already is written before anything is awaited: Bun then sends the response's head together
   * with it, which otherwise leaves in ten pieces.
   */
  async #pump(): Promise<void> {
    const { opened, relayer } = this.#parts;
    for (;;) {
      const next = opened.read();
      const chunk = next instanceof Promise ? await next : next;
      if (chunk === null) break;
      if (this.#isOver) return;
      const blocked = this.#write(relayer.push(chunk));
      if (relayer.producedChars > mostProducedChars) this.#produced.add(relayer.takeProduced());
      if (blocked !== undefined) await blocked;
      this.#throwIfBroken();
      if (relayer.ended) return this.#conclude();
    }
    if (this.#isOver) return;
    if (this.#interruptedBy !== null) throw this.#interruptedBy;
    await this.#write(relayer.end());
    this.#throwIfBroken();
    await this.#conclude();
  }

  #throwIfBroken(): void {
    const reason = this.#interruptedBy ?? this.#parts.relayer.brokenBy;
    if (reason !== null) throw reason;
  }

  /** The charge is durable before the end leaves. A recording must be whole by then, trailing bytes included. */
  async #conclude(): Promise<void> {
    const { bill, relayer, recorder, headers, takeNote } = this.#parts;
    this.#isConcluding = true;
    const end: Piece[] = [relayer.terminal()];
    if (recorder !== null) await this.#readTrailing((piece) => void end.push(piece));
    for (const piece of end) recorder?.append(bytesOf(piece));
    takeNote(relayer);
    await bill.settle("completed", this.#evidence(), 200, recorder?.finish({ status: 200, headers }) ?? null);
    try {
      await this.#write(this.#parts.costComment());
      for (const piece of end) await this.#write(piece);
      if (recorder === null) await this.#readTrailing((piece) => this.#write(piece));
    } finally {
      // It is charged as completed, even if the client has left before the last bytes.
      this.#finish("completed", null);
    }
  }

  /** A provider that breaks off or falls silent behind its proper end has harmed nobody. */
  async #readTrailing(take: (piece: Piece) => Promise<void> | undefined | void): Promise<void> {
    const { opened, relayer, monotonicMs } = this.#parts;
    this.#trailingUntilMs = monotonicMs() + trailingMs;
    try {
      for (let chunk = await opened.read(); chunk !== null; chunk = await opened.read()) {
        const piece = relayer.push(chunk);
        if (piece.length > 0) await take(piece);
      }
    } catch {
      opened.abort();
    }
  }

  /** Undefined when it went out at once, which spares the stream a turn of the event loop per event. */
  #write(piece: Piece): Promise<void> | undefined {
    if (piece.length === 0 || this.#controller === null) return undefined;
    const { exchange, recorder, monotonicMs } = this.#parts;
    exchange.sawFirstByte();
    if (!this.#isConcluding) recorder?.append(bytesOf(piece));
    const written = this.#controller.write(piece);
    this.#lastWriteMs = monotonicMs();
    if (!(written instanceof Promise)) return undefined;
    this.#blockedSinceMs = this.#lastWriteMs;
    return written.then(() => {
      this.#blockedSinceMs = Number.POSITIVE_INFINITY;
    });
  }

  /** By the watchdog's clock and not with the chunks: most streams are over before what they produced need be read. */
  #journalProgress(nowMs: number): void {
    const { relayer, bill } = this.#parts;
    if (!relayer.started || nowMs - this.#lastProgressMs < progressEveryMs) return;
    this.#lastProgressMs = nowMs;
    this.#produced.add(relayer.takeProduced());
    bill.progress(this.#produced, relayer.partialUsage);
  }

  /** Called by the watchdog, which looks after other streams too: what fails here ends this one alone. */
  check(nowMs: number): void {
    try {
      this.#lookAfter(nowMs);
    } catch (error) {
      this.interrupt(publicErrorOf(error));
    }
  }

  #lookAfter(nowMs: number): void {
    const { heartbeatMs, stalledReaderMs, relayer, opened, exchange } = this.#parts;
    if (nowMs > this.#trailingUntilMs) opened.abort();
    // Bun tells of a client that leaves while it reads. Of one that left before, nobody ever asks for the stream.
    if (this.#controller === null && exchange.call.request.signal.aborted) this.clientLeft();
    if (nowMs - this.#blockedSinceMs > stalledReaderMs) {
      this.clientLeft();
      exchange.call.disconnect();
      return;
    }
    if (!this.#isOver && !this.#isConcluding) this.#journalProgress(nowMs);
    const isSilent = heartbeatMs > 0 && nowMs - this.#lastWriteMs >= heartbeatMs;
    const mayWrite = this.#controller !== null && !this.#isConcluding && this.#blockedSinceMs > nowMs;
    if (isSilent && mayWrite) {
      this.#controller?.write(relayer.heartbeat());
      this.#lastWriteMs = nowMs;
    }
  }

  /** Ends the stream from this side, in-band: the time is up, or the gateway is going down. */
  interrupt(error: GatewayError): void {
    if (this.#isConcluding) return;
    this.#interruptedBy ??= error;
    this.#parts.opened.abort();
  }

  /** What was produced is charged, and no usage record is written. Once the end is being settled, it counts as read. */
  clientLeft(): void {
    if (this.#isOver || this.#isConcluding) {
      this.#parts.opened.abort();
      return;
    }
    this.#isOver = true;
    this.#parts.opened.abort();
    // It is under way until it is charged: a gateway that goes down must wait for it.
    const settling = this.#settleBrokenOff("cancelled");
    if (settling === undefined) this.#close("cancelled", null);
    else
      settling.then(
        () => this.#close("cancelled", null),
        (error) => this.#close("cancelled", error),
      );
  }

  /** Whatever else goes wrong on the way, the client is told in-band as far as it can be, and the exchange is closed. */
  async #fail(thrown: unknown): Promise<void> {
    if (this.#isOver) return;
    this.#isConcluding = true;
    let error = publicErrorOf(this.#interruptedBy ?? thrown);
    this.#parts.opened.abort();
    try {
      this.#parts.exchange.brokenBy = error;
      await this.#settleBrokenOff("failed");
    } catch (unsettled) {
      error = publicErrorOf(unsettled);
    }
    try {
      await this.#write(this.#parts.relayer.failure(error));
    } catch {
      // Nobody is left to be told.
    }
    this.#finish("failed", error);
  }

  /** Undefined when nothing had been produced: then nothing is charged, and there is nothing to wait for. */
  #settleBrokenOff(outcome: "failed" | "cancelled"): Promise<unknown> | undefined {
    const { bill, relayer, takeNote } = this.#parts;
    try {
      takeNote(relayer);
      if (relayer.started) return bill.settle(outcome, this.#evidence(), 200, null);
      bill.release();
      return undefined;
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  #evidence(): Evidence {
    const { relayer, requestBytes } = this.#parts;
    const { usage, partialUsage } = relayer;
    const produced = () => {
      this.#produced.add(relayer.takeProduced());
      return this.#produced;
    };
    return { usage, partialUsage, produced, requestBytes };
  }

  #finish(outcome: "completed" | "failed" | "cancelled", error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#close(outcome, error);
  }

  /** Gives back all that the stream has taken. A charge that could not be made must not keep its hold. */
  #close(outcome: "completed" | "failed" | "cancelled", error: unknown): void {
    const { bill, recorder, watchdog, opened, over } = this.#parts;
    watchdog.forget(this);
    try {
      opened.finished(outcome);
      if (bill.isOpen) bill.release();
      recorder?.discard();
    } finally {
      over(outcome, error);
    }
  }
}

function publicErrorOf(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError("internal_error", "The gateway failed.", { cause: error });
}

const encoder = new TextEncoder();

function bytesOf(piece: Piece): Uint8Array {
  return typeof piece === "string" ? encoder.encode(piece) : piece;
}

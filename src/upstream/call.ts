import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import type { GatewayError } from "../base/errors.ts";
import { pickResponse } from "../vendors/http/response-headers.ts";
import type { Prepared } from "../vendors/provider.ts";
import { connectionLost, type Head, isMalformed, type Receiver, type Transfer } from "../wire/transfer.ts";
import { AnswerQueue } from "./answer-queue.ts";
import type { Deadlines } from "./deadlines.ts";
import type { Candidate } from "./directory.ts";
import {
  brokenOff,
  cancelled,
  errorWithin,
  type Failure,
  hungUp,
  malformed,
  refused,
  timeoutError,
  tooSlow,
  unreachable,
  unusable,
} from "./failure.ts";
import { inspectStart, inspectWhole } from "./inspect.ts";
import { orNever, Patience, type Waiter } from "./patience.ts";
import { givePlaceBack } from "./places.ts";
import type { Deployment, Opened, Plan } from "./upstream.ts";

export interface CallContext {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** How long to wait for a stream's first frame before the caller may want to send heartbeats; 0: for ever. */
  readonly heartbeatMs: number;
}

/** A whole answer larger than this is no text that a model wrote. */
const mostWholeBytes = 64 * 1024 * 1024;
/** The beginning of an error's body. It is for people: if it breaks off, what has come is enough. */
const mostErrorBytes = 64 * 1024;
/** After its terminal event a stream should end; the connection is worth so much waiting. */
const drainMs = 1000;

/** So much may wait for a slow reader, here; then the provider waits. */
const mostQueuedBytes = 64 * 1024;

const json = /^application\/([\w.-]+\+)?json\b/;

/** What the bytes are that come now. */
type Phase = "head" | "refusal" | "whole" | "first_frame" | "stream" | "leftovers" | "over";

/**
 * One attempt at one deployment: it owns the deadlines and the transfer of its upstream call, hears the
 * answer as it comes, and becomes the `Opened` that the gateway reads from. Whatever happens, `#release`
 * runs once.
 */
export class Call implements Opened, Receiver, Waiter {
  readonly deployment: Deployment;
  attempts = 1;
  answeredAfterMs = 0;
  /** The provider's; null before its head has come. */
  status: number | null = null;
  streaming = false;
  headers: Readonly<Record<string, string>> = {};

  readonly #context: CallContext;
  readonly #candidate: Candidate;
  readonly #plan: Plan;
  readonly #patience: Patience;
  readonly #queue = new AnswerQueue();
  #transfer: Transfer | null = null;
  #phase: Phase = "head";
  /** Tells `begin` what has come of it; null once it has. */
  #begun: ((failure: Failure | null) => void) | null = null;
  #refusedBy: Head | null = null;
  #isPaused = false;
  /** The reader was let in before the first frame; the limit for that one still holds. */
  #awaitsFirstFrame = false;
  #released = false;
  #reported = false;

  constructor(context: CallContext, candidate: Candidate, plan: Plan) {
    this.#context = context;
    this.#candidate = candidate;
    this.#plan = plan;
    this.deployment = candidate.deployment;
    this.#patience = new Patience(context.clock, this);
  }

  /** Null when the provider has answered well; then this is ready to be read. */
  begin(prepared: Prepared, apiKey: string | null, nowMs: number): Promise<Failure | null> {
    const { timeouts } = this.deployment;
    const { stream, deadlineMs } = this.#plan;
    const patience = this.#patience;
    const begun = Promise.withResolvers<Failure | null>();
    this.#begun = begun.resolve;
    patience.endBy(Math.min(deadlineMs, nowMs + orNever(timeouts.totalMs)));
    patience.expectWithin(nowMs, stream ? timeouts.streamFirstByteMs : timeouts.firstByteMs);
    this.#context.deadlines.watch(patience);
    try {
      const transfer = this.deployment.provider.send(prepared, apiKey, this, this.#plan.keyId);
      this.#transfer = transfer;
      if (!transfer.isConnected) patience.expectConnection(nowMs, timeouts.connectMs);
    } catch (cause) {
      this.#breakOff(cause);
    }
    return begun.promise;
  }

  /**
   * Whether the client has left is looked at here instead of listened for, because most calls are over before
   * their first tick, and a signal is made for a request only when somebody asks for it. A connection that
   * turned out to be closed is replaced by a new one, for which the limit holds too.
   */
  tick(): void {
    if (this.#plan.isOver) this.giveUp();
    else if (this.#phase === "head" && this.#transfer?.isConnected === false) {
      const { connectMs } = this.deployment.timeouts;
      this.#patience.expectConnection(this.#context.clock.monotonicMs(), connectMs);
    }
  }

  giveUp(): void {
    this.#breakOff(connectionLost());
  }

  connected(): void {
    this.#patience.connected();
  }

  answered(head: Head): void {
    this.#patience.connected();
    this.status = head.status;
    if (head.status !== 200) {
      this.#refusedBy = head;
      this.#phase = "refusal";
      return;
    }
    const problem = this.#unusable(head);
    if (problem !== null) {
      this.#fail(unusable(problem));
      return;
    }
    this.headers = pickResponse(head);
    this.#phase = this.streaming ? "first_frame" : "whole";
    if (this.streaming) this.#goOnWithoutFirstFrame();
    else this.#patience.rest();
  }

  /** What is wrong with a 200 before its body is read, if anything. */
  #unusable(head: Head): string | null {
    const encoding = head.get("content-encoding");
    if (encoding !== null && encoding !== "identity") return "it is compressed, which was not asked for";
    const type = head.get("content-type") ?? "";
    this.streaming = type.startsWith("text/event-stream");
    if (this.streaming || type === "application/json" || json.test(type)) return null;
    return "its content type is neither JSON nor an event stream";
  }

  /** A stream that is slow to begin is handed over empty, so that its reader can be shown signs of life. */
  #goOnWithoutFirstFrame(): void {
    const goOnMs = this.#context.clock.monotonicMs() + orNever(this.#context.heartbeatMs);
    this.#patience.remindAt(goOnMs, () => {
      this.#awaitsFirstFrame = true;
      this.#opened();
    });
  }

  received(bytes: Uint8Array): void {
    switch (this.#phase) {
      case "stream":
        this.#awaitsFirstFrame = false;
        this.#patience.rest();
        this.#queue.add(bytes);
        this.#pauseIfBehind();
        return;
      case "whole":
        this.#queue.add(bytes);
        if (this.#queue.bytes > mostWholeBytes) this.#fail(unusable("it is too large"));
        return;
      case "refusal":
        this.#queue.add(bytes);
        if (this.#queue.bytes >= mostErrorBytes) this.#refused();
        return;
      case "first_frame":
        this.#queue.add(bytes);
        this.#lookAtStart(false);
    }
  }

  ended(): void {
    if (this.#phase === "refusal") this.#refused();
    else if (this.#phase === "whole") this.#lookAtWhole();
    else if (this.#phase === "first_frame") this.#lookAtStart(true);
    this.#queue.end();
    this.#release();
  }

  failed(cause: unknown): void {
    // The status is known, and it is what decides.
    if (this.#phase === "refusal") this.#refused();
    else this.#breakOff(cause);
  }

  /** The first frame is looked at before anything is read, so that an error in it can get a status of its own. */
  #lookAtStart(ended: boolean): void {
    const found = inspectStart(this.#queue.pieces, ended);
    if (found === "more") return;
    if (found !== "fine") {
      this.#fail(found === "empty" ? unusable("its stream ends before it begins") : errorWithin(found));
      return;
    }
    this.#patience.noReminder();
    this.#patience.rest();
    this.#opened();
  }

  #lookAtWhole(): void {
    const found = inspectWhole(this.#queue.joined());
    if (found === "fine") this.#opened();
    else this.#fail(found === "broken" ? unusable("it is not a JSON object") : errorWithin(found));
  }

  #refused(): void {
    const head = this.#refusedBy;
    assert(head !== null, "a refusal has a status");
    const text = this.#queue.joined().toString("utf8", 0, mostErrorBytes);
    const receivedAtMs = this.#context.clock.wallMs();
    this.#fail(refused(head.status, this.deployment.provider.readRefusal({ head, text, receivedAtMs })));
  }

  #opened(): void {
    if (this.streaming) this.#phase = "stream";
    this.#tellBegun(null);
  }

  #fail(failure: Failure): void {
    this.#stop();
    this.#tellBegun(failure);
  }

  #tellBegun(failure: Failure | null): void {
    const begun = this.#begun;
    this.#begun = null;
    begun?.(failure);
  }

  /** The answer ends here, by the provider's, the client's or our own doing; whose it was decides on the words. */
  #breakOff(cause: unknown): void {
    if (this.#released) return;
    if (this.#begun !== null) {
      this.#fail(this.#failureOf(cause));
      return;
    }
    this.#stop();
    this.#queue.fail(this.#brokenBody(cause));
  }

  #stop(): void {
    this.#phase = "over";
    this.#transfer?.cancel();
    this.#release();
  }

  bytes(): Uint8Array {
    assert(!this.streaming, "the answer is whole");
    return this.#queue.joined();
  }

  read(): Uint8Array | null | Promise<Uint8Array | null> {
    // Silence counts only while somebody waits: a client that reads slowly is not the provider's fault.
    if (this.#queue.isEmpty && !this.#released && !this.#awaitsFirstFrame) {
      this.#patience.expectWithin(this.#context.clock.monotonicMs(), this.deployment.timeouts.gapMs);
    }
    const piece = this.#queue.take();
    if (this.#isPaused && this.#queue.isEmpty) {
      this.#isPaused = false;
      this.#transfer?.resume();
    }
    return piece;
  }

  #pauseIfBehind(): void {
    if (this.#isPaused || this.#queue.bytes < mostQueuedBytes) return;
    this.#isPaused = true;
    this.#transfer?.pause();
  }

  abort(): void {
    this.#breakOff(connectionLost());
  }

  finished(outcome: "completed" | "failed" | "cancelled"): void {
    if (this.#reported) return;
    this.#reported = true;
    if (outcome === "failed") {
      this.#candidate.standing.breaker.brokeOff(this.#context.clock.monotonicMs(), this.#plan.keyId);
    }
    if (outcome !== "completed") this.abort();
    else if (!this.#released) this.#readLeftovers();
  }

  /** Reads on to the proper end, so that the connection can serve again. */
  #readLeftovers(): void {
    this.#phase = "leftovers";
    this.#patience.expectWithin(this.#context.clock.monotonicMs(), drainMs);
    if (this.#isPaused) this.#transfer?.resume();
  }

  #failureOf(cause: unknown): Failure {
    if (this.#patience.lost === "too_slow") return tooSlow(this.#plan.clientDialect);
    if (this.#plan.isOver) return cancelled(this.#plan.signal);
    if (this.#patience.lost === "not_there") return unreachable(cause);
    if (isMalformed(cause)) return malformed(cause);
    if (this.#phase !== "head") return brokenOff(cause);
    // Only without a connection is it certain that nothing was sent.
    return this.#transfer?.isConnected === true ? hungUp(cause) : unreachable(cause);
  }

  #brokenBody(cause: unknown): GatewayError {
    if (this.#patience.lost !== null) return timeoutError(this.#plan.clientDialect);
    if (this.#plan.isOver) return cancelled(this.#plan.signal).error;
    return brokenOff(cause).error;
  }

  #release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#context.deadlines.forget(this.#patience);
    const { standing } = this.#candidate;
    standing.inFlight -= 1;
    givePlaceBack(standing);
  }
}

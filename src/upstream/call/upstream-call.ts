import { assert } from "../../base/assert.ts";
import { type ProviderDialectName, providerDialect } from "../../dialects/registry.ts";
import type { CredentialUse } from "../../vendors/credentials/credential.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import { connectionLost, type Head, type Receiver, type Transfer } from "../../wire/transfer.ts";
import { type Failure, invalidResponse } from "../failure.ts";
import type { Candidate } from "../health/deployment-state.ts";
import { releaseSlot } from "../selection/directory.ts";
import type { Deployment, OpenedCall, Plan, ReceivedBytes } from "../upstream.ts";
import { CallDeadlines, type DeadlineOwner, drainMs, orNever } from "./call-deadlines.ts";
import { failureBeforeResponse, failureIn200, failureOfStatus, streamError } from "./call-failure.ts";
import type { CallContext, CallState } from "./call-state.ts";
import {
  inspectBody,
  inspectHead,
  inspectStart,
  openingMs,
  shownHeaders,
  sniffBody,
  unknownType,
} from "./inspect.ts";
import { awaitMemory, hasBecomeLarge, isTooLarge, type PieceTaker, ResponseQueue } from "./response-queue.ts";

/** Limit for reading an error's body; the message is near the beginning. */
const maxErrorBytes = 64 * 1024;
/** With more unread bytes the transfer is paused, and TCP slows the provider down. */
const maxQueuedBytes = 64 * 1024;

/**
 * One attempt at one deployment: receives the response, keeps its deadlines, and is the `OpenedCall` that the gateway
 * reads from. Its states are described in call-state.ts.
 */
export class UpstreamCall implements OpenedCall, Receiver, DeadlineOwner {
  readonly deployment: Deployment;
  attempts = 1;
  credential: string | null = null;
  answeredAfterMs = 0;
  status: number | null = null;
  streaming = false;
  outlivesClient = false;
  headers: Readonly<Record<string, string>> = {};
  head: Head | null = null;

  readonly #context: CallContext;
  readonly #candidate: Candidate;
  readonly #plan: Plan;
  readonly #deadlines: CallDeadlines;
  readonly #queue = new ResponseQueue();
  /** Resolved with null when the response is returned. */
  readonly #begun = Promise.withResolvers<Failure | null>();
  #state: CallState = "awaits_head";
  #transfer: Transfer | null = null;
  /** The content type declares JSON. */
  #isNamedJson = false;
  readonly #spoken: ProviderDialectName;
  #isPaused = false;
  /** Whether part of the stream has arrived since the last tick. */
  #hasHeard = false;
  #isReported = false;

  constructor(context: CallContext, candidate: Candidate, plan: Plan, upstreamDialect: ProviderDialectName) {
    this.#context = context;
    this.#candidate = candidate;
    this.#plan = plan;
    this.deployment = candidate.deployment;
    this.#spoken = upstreamDialect;
    this.#deadlines = new CallDeadlines(context.clock, this);
  }

  /** Sends the request. Resolves to null once the response can be read, and to the failure if there is none. */
  begin(prepared: PreparedRequest, credential: CredentialUse | null, nowMs: number): Promise<Failure | null> {
    const { timeouts } = this.deployment;
    const { stream, deadlineMs, keyId } = this.#plan;
    const deadlines = this.#deadlines;
    deadlines.endBy(Math.min(deadlineMs, nowMs + orNever(timeouts.totalMs)));
    deadlines.expectWithin(nowMs, stream ? timeouts.streamFirstByteMs : timeouts.firstByteMs);
    this.#context.timer.add(deadlines);
    try {
      this.#transfer = this.deployment.provider.send(prepared, credential, this, keyId);
      if (!this.#transfer.isConnected) deadlines.expectConnection(nowMs, timeouts.connectMs);
    } catch (cause) {
      this.#breakOff(cause);
    }
    return this.#begun.promise;
  }

  connected(): void {
    this.#deadlines.connected();
  }

  answered(head: Head): void {
    this.#deadlines.connected();
    this.status = head.status;
    this.head = head;
    if (head.status !== 200) {
      this.#state = "refusal";
      return;
    }
    const kind = inspectHead(head);
    const { stream, takesAnyType, streamsAnyType } = this.#plan;
    if (typeof kind === "object" || (kind === "other" && !stream && takesAnyType !== true)) {
      this.#fail(invalidResponse(typeof kind === "object" ? kind.problem : unknownType));
      return;
    }
    this.headers = shownHeaders(head, this.deployment, this.#plan, this.#context.clock);
    const isBytes = kind === "other" && streamsAnyType === true;
    if (kind === "stream" || isBytes) this.#beginStream();
    if (isBytes) this.reminded();
    else if (kind !== "stream") {
      this.#isNamedJson = kind === "json";
      this.#state = stream ? "unnamed" : "whole";
      if (this.#isNamedJson) this.#deadlines.expectOnlyEnd();
    }
  }

  #beginStream(): void {
    this.streaming = true;
    this.#state = "first_frame";
    this.#deadlines.remindAt(this.#nowMs() + orNever(this.#context.heartbeatMs));
  }

  received(bytes: Uint8Array): void {
    switch (this.#state) {
      case "early_stream":
      case "streaming":
        this.#state = "streaming";
        this.#hasHeard = true;
        this.#queue.add(bytes);
        this.#pauseIfBehind();
        return;
      case "whole":
        this.#queue.add(bytes);
        if (isTooLarge(this.#queue)) this.#fail(invalidResponse("it is too large"));
        else if (hasBecomeLarge(this.#queue, bytes)) void awaitMemory(this.#plan, this.head, this.#transfer);
        return;
      case "refusal":
        this.#queue.add(bytes);
        if (this.#queue.bytes >= maxErrorBytes) this.#failRejected();
        return;
      case "first_frame":
      case "opening":
        this.#queue.add(bytes);
        this.#inspectStart(false);
        return;
      case "unnamed":
        this.#queue.add(bytes);
        this.#sniff();
        return;
      case "awaits_head":
      case "draining":
      case "complete":
      case "failed":
        return;
    }
  }

  ended(): void {
    this.#judgeEnd();
    if (this.#isOver) return;
    this.#state = "complete";
    this.#queue.end();
    this.#release();
    this.#begun.resolve(null);
  }

  failed(cause: unknown): void {
    // A refusal with a truncated body is still a refusal: the status decides.
    if (this.#state === "refusal") this.#judgeEnd();
    else this.#breakOff(cause);
  }

  /** Catches exceptions of error readers, which would leave the call waiting for its deadline. */
  #judgeEnd(): void {
    try {
      if (this.#state === "refusal") this.#failRejected();
      else if (this.#state === "whole" || this.#state === "unnamed") this.#inspectWhole();
      else if (this.#state === "first_frame" || this.#state === "opening") this.#inspectStart(true);
    } catch (cause) {
      this.#fail(invalidResponse("it cannot be read", cause));
    }
  }

  /** The first frame, whose deadline stays, or the content took too long: hands the stream over without it. */
  reminded(): void {
    if (this.#state !== "first_frame" && this.#state !== "opening") return;
    this.#state = this.#state === "opening" ? "streaming" : "early_stream";
    this.#begun.resolve(null);
  }

  timedOut(): void {
    this.#breakOff(connectionLost());
  }

  /**
   * Polls whether the client has disconnected, because most calls are over before their first tick, and an abort signal is
   * only created for a request if someone listens. Also, a kept connection that turned out to be closed is replaced
   * by a new one, to which the limit for connecting applies.
   */
  tick(nowMs: number): void {
    if (this.#plan.isOver && !this.outlivesClient) this.abort();
    else if (this.#state === "streaming") this.#restartGap(nowMs);
    else if (this.#state === "awaits_head" && this.#transfer?.isConnected === false) {
      this.#deadlines.expectConnection(nowMs, this.deployment.timeouts.connectMs);
    }
  }

  /**
   * Checked at a tick and not with each piece, because reading the clock costs more than the rest. The gap is limited
   * only while the reader waits: a client that reads slowly is not the provider's fault.
   */
  #restartGap(nowMs: number): void {
    if (!this.#hasHeard) return;
    this.#hasHeard = false;
    if (this.#queue.isAwaited) this.#deadlines.expectWithin(nowMs, this.deployment.timeouts.idleMs);
    else this.#deadlines.expectOnlyEnd();
  }

  bytes(): Uint8Array {
    assert(!this.streaming, "the answer is whole");
    return this.#queue.joined();
  }

  get whole(): ReceivedBytes {
    return this.#queue;
  }

  read(taker?: PieceTaker): Uint8Array | null | Promise<Uint8Array | null> {
    if (this.#state === "streaming" && this.#queue.isEmpty) {
      this.#deadlines.expectWithin(this.#nowMs(), this.deployment.timeouts.idleMs);
    }
    const piece = this.#queue.take(taker);
    if (this.#isPaused && this.#queue.isEmpty) {
      this.#isPaused = false;
      this.#transfer?.resume();
    }
    return piece;
  }

  abort(): void {
    if (!this.#isOver) this.#breakOff(connectionLost());
  }

  finished(outcome: "completed" | "failed" | "cancelled"): void {
    if (this.#isReported) return;
    this.#isReported = true;
    if (outcome === "failed") this.#candidate.state.breaker.brokeOff(this.#nowMs(), this.#plan.keyId);
    if (outcome !== "completed") this.abort();
    else if (!this.#isOver) {
      this.#state = "draining";
      this.#deadlines.expectWithin(this.#nowMs(), drainMs);
      if (this.#isPaused) this.#transfer?.resume();
    }
  }

  #pauseIfBehind(): void {
    if (this.#isPaused || this.#queue.bytes < maxQueuedBytes) return;
    this.#isPaused = true;
    this.#transfer?.pause();
  }

  #inspectStart(isEnd: boolean): void {
    const verdict = inspectStart(this.#queue.pieces, isEnd, providerDialect(this.#spoken));
    if (verdict === "opening") {
      if (this.#state === "first_frame") this.#deadlines.expectContent(this.#nowMs(), openingMs);
      this.#state = "opening";
    } else if (verdict === "fine") {
      this.#deadlines.expectOnlyEnd();
      this.#state = "streaming";
      this.#pauseIfBehind();
      this.#begun.resolve(null);
    } else if (verdict !== "more") this.#fail(failureIn200(verdict, this.#spoken, this.#queue.pieces));
  }

  /** A stream was requested, but the content type is not a stream's. The first bytes decide. */
  #sniff(): void {
    const verdict = sniffBody(this.#queue.pieces);
    if (verdict === "stream") {
      this.#beginStream();
      this.#inspectStart(false);
    } else if (verdict === "other") {
      this.#state = "whole";
      if (!this.#isNamedJson && this.#plan.takesAnyType !== true) this.#fail(invalidResponse(unknownType));
    }
  }

  #inspectWhole(): void {
    if (this.#plan.takesAnyType === true && !this.#isNamedJson) return;
    const verdict = inspectBody(this.#queue);
    if (verdict !== "fine") this.#fail(failureIn200(verdict, this.#spoken));
  }

  #failRejected(): void {
    const { head } = this;
    assert(head !== null, "a refusal has a head");
    const text = this.#queue.joined().toString("utf8", 0, maxErrorBytes);
    const providerError = { head, text, receivedAtMs: this.#context.clock.wallMs() };
    this.#fail(failureOfStatus(providerError, this.deployment, this.#plan, this.#spoken));
  }

  /** Ends the call early. Who caused it determines the error. */
  #breakOff(cause: unknown): void {
    // The opening events may report usage: they are read although the client has disconnected.
    if (this.#state === "opening" && this.#plan.isOver) this.reminded();
    switch (this.#state) {
      case "complete":
      case "failed":
        return;
      case "awaits_head":
      case "refusal":
      case "whole":
      case "unnamed":
      case "first_frame":
      case "opening":
        this.#fail(failureBeforeResponse(cause, this.#plan, this.#state, this.#deadlines, this.#transfer));
        return;
      case "early_stream":
      case "streaming":
      case "draining":
        this.#cancel();
        this.#queue.fail(streamError(cause, this.#plan, this.#deadlines));
    }
  }

  #fail(failure: Failure): void {
    this.#cancel();
    this.#begun.resolve(failure);
  }

  #cancel(): void {
    this.#state = "failed";
    this.#transfer?.cancel();
    this.#release();
  }

  get #isOver(): boolean {
    return this.#state === "complete" || this.#state === "failed";
  }

  /** Once, at the transition to `complete` or `failed`. */
  #release(): void {
    this.#context.timer.remove(this.#deadlines);
    this.#candidate.state.inFlight -= 1;
    releaseSlot(this.#candidate);
  }

  #nowMs(): number {
    return this.#context.clock.monotonicMs();
  }
}

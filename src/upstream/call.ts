import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import type { GatewayError } from "../base/errors.ts";
import { pickResponse } from "../providers/headers.ts";
import type { Operation } from "../providers/provider.ts";
import { readAtMost, readWhole } from "./body.ts";
import type { Deadlines } from "./deadlines.ts";
import type { Candidate } from "./directory.ts";
import {
  brokenOff,
  cancelled,
  errorWithin,
  type Failure,
  hungUp,
  nonsense,
  refused,
  timeoutError,
  tooSlow,
  unreachable,
} from "./failure.ts";
import { inspectStart, inspectWhole } from "./inspect.ts";
import { orNever, Patience } from "./patience.ts";
import { retryAfterMs } from "./retry-after.ts";
import { isReset, send } from "./send.ts";
import type { Deployment, Opened, Plan, Prepared } from "./upstream.ts";

type Piece = { readonly done: boolean; readonly value?: Uint8Array };

interface PieceReader {
  read(): Promise<Piece>;
}

export interface CallContext {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** How long to wait for a stream's first frame before the caller may want to send heartbeats; 0: for ever. */
  readonly heartbeatMs: number;
}

const mostErrorBytes = 64 * 1024;
/** After its terminal event a stream should end; the connection is worth so much waiting. */
const drainMs = 1000;

/**
 * One attempt at one deployment: it owns the abort, the deadlines and the body of its upstream call, and
 * becomes the `Opened` that the gateway reads from. Whatever happens, `#release` runs once.
 */
export class Call implements Opened {
  readonly deployment: Deployment;
  readonly operation: Operation;
  attempts = 1;
  streaming = false;
  headers: Readonly<Record<string, string>> = {};

  readonly #context: CallContext;
  readonly #candidate: Candidate;
  readonly #plan: Plan;
  readonly #controller = new AbortController();
  readonly #cancel = () => this.#controller.abort();
  readonly #patience: Patience;
  #answering = false;
  #released = false;
  #reported = false;
  #reader: PieceReader | null = null;
  #pending: Promise<Piece> | null = null;
  #early: Uint8Array[] = [];
  #whole: Uint8Array | null = null;

  constructor(context: CallContext, candidate: Candidate, plan: Plan, operation: Operation) {
    this.#context = context;
    this.#candidate = candidate;
    this.#plan = plan;
    this.deployment = candidate.deployment;
    this.operation = operation;
    this.#patience = new Patience(context.clock, this.#cancel);
  }

  /** Null when the provider has answered well; then this is ready to be read. */
  async begin(prepared: Prepared, apiKey: string | null, nowMs: number): Promise<Failure | null> {
    const { timeouts } = this.deployment;
    const patience = this.#patience;
    patience.endBy(Math.min(this.#plan.deadlineMs, nowMs + orNever(timeouts.totalMs)));
    patience.expectWithin(nowMs, this.#plan.stream ? timeouts.streamFirstByteMs : timeouts.firstByteMs);
    patience.expectConnection(nowMs, timeouts.connectMs, this.#candidate.standing.account.reach);
    this.#context.deadlines.watch(patience);
    this.#plan.signal.addEventListener("abort", this.#cancel);
    let failure: Failure | null;
    try {
      failure = await this.#receive(
        await send(this.deployment.provider, prepared, apiKey, this.#controller.signal),
      );
    } catch (cause) {
      failure = this.#failureOf(cause);
    }
    if (failure !== null) this.abort();
    return failure;
  }

  async #receive(response: Response): Promise<Failure | null> {
    const nowMs = this.#context.clock.monotonicMs();
    this.#answering = true;
    this.#patience.connected();
    this.#candidate.standing.account.reach.heard(nowMs);
    if (response.status !== 200) return this.#refusal(response);
    const problem = this.#unusable(response);
    if (problem !== null) return nonsense(problem);
    this.headers = pickResponse(response.headers);
    if (this.streaming) return this.#openStream(response, nowMs);
    this.#patience.rest();
    this.#whole = await readWhole(response);
    if (this.#whole === null) return nonsense("it is too large");
    const found = inspectWhole(this.#whole);
    if (found === "fine") return null;
    return found === "broken" ? nonsense("it is not a JSON object") : errorWithin(found);
  }

  /** What is wrong with a 200 before its body is read, if anything. */
  #unusable(response: Response): string | null {
    const encoding = response.headers.get("content-encoding");
    if (encoding !== null && encoding !== "identity") return "it is compressed, which was not asked for";
    const type = response.headers.get("content-type") ?? "";
    this.streaming = type.startsWith("text/event-stream");
    if (this.streaming || /^application\/([\w.-]+\+)?json\b/.test(type)) return null;
    return "its content type is neither JSON nor an event stream";
  }

  async #refusal(response: Response): Promise<Failure> {
    return refused({
      status: response.status,
      contentType: response.headers.get("content-type"),
      text: await readAtMost(response, mostErrorBytes),
      retryAfterMs: retryAfterMs(response.headers, this.#context.clock.wallMs()),
    });
  }

  /** Waits for the first frame, so that an error in it can still get a status of its own. */
  async #openStream(response: Response, nowMs: number): Promise<Failure | null> {
    if (response.body === null) return nonsense("it is empty");
    this.#reader = response.body.getReader();
    const { heartbeatMs } = this.#context;
    const goOnMs = nowMs + orNever(heartbeatMs);
    for (;;) {
      const read = await this.#readUntil(goOnMs);
      if (read === null) return null;
      if (read.value !== undefined) this.#early.push(read.value);
      const found = inspectStart(this.#early, read.done);
      if (found === "more") continue;
      this.#patience.rest();
      if (found === "fine") return null;
      if (found === "empty") return nonsense("its stream ends before it begins");
      return errorWithin(found);
    }
  }

  /** The next piece of the stream, or null when it has not come by `goOnMs` and is left for `read`. */
  #readUntil(goOnMs: number): Promise<Piece | null> {
    const pending = this.#nextPiece();
    return new Promise((resolve, reject) => {
      this.#patience.remindAt(goOnMs, () => {
        this.#pending = pending;
        resolve(null);
      });
      pending.then((piece) => {
        this.#patience.noReminder();
        resolve(piece);
      }, reject);
    });
  }

  #nextPiece(): Promise<Piece> {
    assert(this.#reader !== null, "the answer is a stream");
    return this.#reader.read();
  }

  bytes(): Promise<Uint8Array> {
    return this.#whole === null ? this.#collect() : Promise.resolve(this.#whole);
  }

  async #collect(): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for (let piece = await this.read(); piece !== null; piece = await this.read()) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  async read(): Promise<Uint8Array | null> {
    const early = this.#early.shift();
    if (early !== undefined) return early;
    if (this.#reader === null || (this.#released && !this.#controller.signal.aborted)) return null;
    try {
      const pending = this.#pending ?? this.#expectPiece();
      this.#pending = null;
      const { done, value } = await pending;
      this.#patience.rest();
      if (!done) return value ?? new Uint8Array();
      this.#release();
      return null;
    } catch (cause) {
      this.#release();
      throw this.#brokenBody(cause);
    }
  }

  /** Silence counts only while somebody waits: a client that reads slowly is not the provider's fault. */
  #expectPiece(): Promise<Piece> {
    this.#patience.expectWithin(this.#context.clock.monotonicMs(), this.deployment.timeouts.gapMs);
    return this.#nextPiece();
  }

  abort(): void {
    if (this.#released) return;
    this.#controller.abort();
    this.#release();
  }

  finished(outcome: "completed" | "failed" | "cancelled"): void {
    if (this.#reported) return;
    this.#reported = true;
    if (outcome === "failed") this.#candidate.standing.breaker.brokeOff(this.#context.clock.monotonicMs());
    if (outcome === "completed" && this.#reader !== null) void this.#drain();
    else if (this.#whole === null) this.abort();
    else this.#release();
  }

  /** Reads on to the proper end, so that the connection can serve again. */
  async #drain(): Promise<void> {
    if (this.#released) return;
    this.#patience.expectWithin(this.#context.clock.monotonicMs(), drainMs);
    try {
      while (!(await (this.#pending ?? this.#nextPiece())).done) this.#pending = null;
    } catch {
      // The answer is complete and delivered; how its connection ends interests nobody.
    }
    this.abort();
  }

  #failureOf(cause: unknown): Failure {
    if (this.#patience.lost === "too_slow") return tooSlow(this.#plan.clientDialect);
    if (this.#plan.signal.aborted) return cancelled(this.#plan.signal);
    if (this.#patience.lost === "not_there") return unreachable(cause);
    if (this.#answering) return brokenOff(cause);
    return isReset(cause) ? hungUp(cause) : unreachable(cause);
  }

  #brokenBody(cause: unknown): GatewayError {
    if (this.#patience.lost !== null) return timeoutError(this.#plan.clientDialect);
    if (this.#plan.signal.aborted) return cancelled(this.#plan.signal).error;
    return brokenOff(cause).error;
  }

  #release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#context.deadlines.forget(this.#patience);
    this.#plan.signal.removeEventListener("abort", this.#cancel);
    const { standing } = this.#candidate;
    standing.inFlight -= 1;
    standing.gate?.leave();
    standing.account.gate?.leave();
  }
}

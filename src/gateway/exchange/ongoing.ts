import { Bag } from "../../base/collections/churn-map.ts";
import { GatewayError } from "../../base/errors.ts";
import { startDeadline } from "../../base/loop/deadline.ts";
import { Gate, Gates } from "../../limits/concurrency.ts";
import type { Exchange } from "./exchange.ts";

export interface OngoingLimits {
  maxConcurrent(): number;
  maxPerKey(): number | null;
  /** The event loop's lag, as far as too much work causes it. */
  lagMs(): number;
}

/** With the loop this far behind, more work would only delay every response. */
const overloadLagMs = 2000;

/** With the loop this far behind, lines of batches would delay requests that clients wait for. */
const crowdedLagMs = 50;

/** Calls of clients are under way for so long after the last one has ended: a client that calls again soon should not notice. */
const clientsLingerMs = 1000;

/** A burst may wait briefly; a longer queue would only turn overload into timeouts. */
const shortQueue = { queueLimit: 64, waitMs: 500 };

interface SlotlessCall {
  readonly exchange: Exchange;
  /** Interrupts a wait for work that does not observe the exchange's signal. */
  interrupt?(error: GatewayError): void;
}

/**
 * All exchanges in flight. New ones are rejected while the gateway drains or is full. Exchanges in flight run on until they end or
 * the grace time is over.
 */
export class Ongoing {
  readonly #limits: OngoingLimits;
  readonly #exchanges = new Bag<Exchange>();
  /** Calls in flight without a slot: they wait for one, or need none. */
  readonly #slotless = new Bag<SlotlessCall>();
  readonly #all: Gate;
  readonly #perKey: Gates;
  #whenEmpty: (() => void) | null = null;
  isDraining = false;
  /**
   * Whether a proxy has forwarded requests. It keeps connections open, and cannot resend a request elsewhere once it
   * has begun to send it.
   */
  isBehindProxy = false;
  /** Number of calls that got a slot since the start. */
  admitted = 0;
  /** How many of the exchanges are calls of clients, and when one has ended last. */
  #clients = 0;
  #clientLeftAtMs = Number.NEGATIVE_INFINITY;

  constructor(limits: OngoingLimits) {
    this.#limits = limits;
    // Read each time: a reload may change them.
    this.#all = new Gate({
      ...shortQueue,
      get limit() {
        return limits.maxConcurrent();
      },
    });
    this.#perKey = new Gates({
      ...shortQueue,
      get limit() {
        return limits.maxPerKey() ?? Number.POSITIVE_INFINITY;
      },
    });
  }

  /** Takes a slot if one is free now; `leave` returns it. Throws while new requests are not accepted. */
  tryEnter(exchange: Exchange, keyId: string): boolean {
    this.#rejectWhenOverloaded(exchange);
    if (!this.#all.tryEnter()) return false;
    if (isCounted(exchange) && !this.#perKey.tryEnter(keyId)) {
      this.#all.leave();
      return false;
    }
    this.#add(exchange);
    return true;
  }

  #add(exchange: Exchange): void {
    this.#exchanges.add(exchange);
    this.admitted += 1;
    if (isCounted(exchange)) this.#clients += 1;
  }

  /** Takes a slot, after a short wait if need be, or rejects the exchange. `leave` returns it. */
  async enter(exchange: Exchange, keyId: string): Promise<void> {
    if (this.tryEnter(exchange, keyId)) return;
    await this.withoutSlot(exchange, () => this.#waitToEnter(exchange, keyId));
  }

  async #waitToEnter(exchange: Exchange, keyId: string): Promise<void> {
    const { signal } = exchange;
    if (!(await this.#all.enter(signal)))
      throw exchange.endedBy ?? busy("The gateway is at its limit of concurrent requests.");
    if (isCounted(exchange) && !(await this.#perKey.enter(keyId, signal))) {
      this.#all.leave();
      throw exchange.endedBy ?? busy("This key is at its limit of concurrent requests.");
    }
    this.#add(exchange);
    if (exchange.endedBy === null) return;
    this.leave(exchange, keyId);
    throw exchange.endedBy;
  }

  /** Runs work that needs no slot. A shutdown waits for it and interrupts it like any other. */
  async withoutSlot<Result>(exchange: Exchange, work: () => Promise<Result>): Promise<Result> {
    const waiting = { exchange };
    this.#slotless.add(waiting);
    try {
      return await work();
    } finally {
      this.#leaveSlotless(waiting);
    }
  }

  /** Runs work without a slot that does not end with its exchange: after an interruption it is awaited no longer. */
  untilInterrupted<Result>(exchange: Exchange, work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const interrupt = (error: unknown) => {
        this.#leaveSlotless(waiting);
        reject(error);
      };
      const waiting = { exchange, interrupt };
      this.#slotless.add(waiting);
      work.then((result) => {
        this.#leaveSlotless(waiting);
        resolve(result);
      }, interrupt);
    });
  }

  #leaveSlotless(waiting: SlotlessCall): void {
    if (this.#slotless.delete(waiting)) this.#notifyIfEmpty();
  }

  /** Whether requests wait for a slot, or for the event loop, so that less urgent work should not start. */
  get isCrowded(): boolean {
    return this.#all.waiting > 0 || this.#limits.lagMs() > crowdedLagMs;
  }

  /** Whether calls of clients are under way, so that less urgent work should take its time. */
  get hasClients(): boolean {
    return this.#clients > 0 || performance.now() - this.#clientLeftAtMs < clientsLingerMs;
  }

  leave(exchange: Exchange, keyId: string): void {
    if (!this.#exchanges.delete(exchange)) return;
    this.#all.leave();
    if (isCounted(exchange)) {
      this.#perKey.leave(keyId);
      this.#clients -= 1;
      this.#clientLeftAtMs = performance.now();
    }
    this.#notifyIfEmpty();
  }

  get size(): number {
    return this.#exchanges.size;
  }

  #rejectWhenOverloaded({ call }: Exchange): void {
    if (!this.isBehindProxy && call.isForwarded) this.isBehindProxy = true;
    // A proxy's last requests, on connections that it has kept, are served.
    if (this.isDraining && !call.isForwarded)
      throw busy("The gateway is shutting down. Retry in a few seconds.");
    if (this.#limits.lagMs() > overloadLagMs)
      throw busy("The gateway is overloaded. Retry in a few seconds.");
  }

  /** In no order. */
  exchanges(): Iterable<Exchange> {
    return this.#exchanges;
  }

  /** Resolves true when the last exchange has ended, false when it takes longer than `graceMs`. */
  async drained(graceMs: number): Promise<boolean> {
    if (this.isEmpty) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancelDeadline = startDeadline(graceMs, () => resolve(false));
    this.#whenEmpty = () => resolve(true);
    const isEmpty = await promise;
    cancelDeadline();
    return isEmpty;
  }

  /** Streams that have begun end in-band; all other calls get the error. */
  interruptAll(error: GatewayError): void {
    for (const exchange of this.#exchanges) {
      if (exchange.pump === null) exchange.end(error);
      else exchange.pump.interrupt(error);
    }
    for (const waiting of this.#slotless) {
      waiting.exchange.end(error);
      waiting.interrupt?.(error);
    }
  }

  /** Nothing is in flight, with or without a slot. */
  get isEmpty(): boolean {
    return this.#exchanges.size === 0 && this.#slotless.size === 0;
  }

  /** Nothing is in flight, or only streams whose clients do not read. */
  get isIdle(): boolean {
    if (this.#slotless.size > 0) return false;
    for (const { pump } of this.#exchanges) if (pump?.isStalled !== true) return false;
    return true;
  }

  #notifyIfEmpty(): void {
    if (this.isEmpty) this.#whenEmpty?.();
  }
}

function isCounted({ call }: Exchange): boolean {
  return call.origin.isInteractive;
}

function busy(message: string): GatewayError {
  return new GatewayError("service_unavailable", message);
}

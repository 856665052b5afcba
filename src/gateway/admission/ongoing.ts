import { Bag } from "../../base/collections/churn-map.ts";
import { GatewayError } from "../../base/errors.ts";
import { startDeadline } from "../../base/loop/deadline.ts";
import { Gate, Gates } from "../../limits/concurrency.ts";
import type { Exchange } from "../exchange.ts";

export interface OngoingLimits {
  maxConcurrent(): number;
  maxPerKey(): number | null;
  /** The event loop's lag, as far as too much work causes it. */
  lagMs(): number;
}

/** With the loop this far behind, more work would only delay every answer. */
const overloadLagMs = 2000;

/** A burst may wait briefly; a longer queue would only turn overload into timeouts. */
const shortQueue = { queueLimit: 64, waitMs: 500 };

interface Placeless {
  readonly exchange: Exchange;
  /** Ends the wait for work that does not end with its exchange. */
  interrupt?(error: GatewayError): void;
}

/**
 * All exchanges in flight. New ones are refused while the gateway drains or is full; those in flight run on until
 * they end or the grace time is over.
 */
export class Ongoing {
  readonly #limits: OngoingLimits;
  readonly #exchanges = new Bag<Exchange>();
  /** In flight without a place: they wait for one, or need none. */
  readonly #placeless = new Bag<Placeless>();
  readonly #all: Gate;
  readonly #perKey: Gates;
  #whenEmpty: (() => void) | null = null;
  isDraining = false;
  /** A proxy has passed requests on. It keeps connections, and cannot repeat elsewhere what it has begun to send. */
  isBehindProxy = false;
  /** How many have been given a place since the start. */
  admitted = 0;

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

  /** Takes a place if one is free now; `leave` gives it back. Throws while nothing new is taken on. */
  tryEnter(exchange: Exchange, keyId: string): boolean {
    this.#refuseWhenOverloaded(exchange);
    if (!this.#all.tryEnter()) return false;
    if (!this.#perKey.tryEnter(keyId)) {
      this.#all.leave();
      return false;
    }
    this.#exchanges.add(exchange);
    this.admitted += 1;
    return true;
  }

  /** Takes a place, after a short wait if need be, or refuses the exchange. `leave` gives it back. */
  async enter(exchange: Exchange, keyId: string): Promise<void> {
    if (this.tryEnter(exchange, keyId)) return;
    await this.withoutPlace(exchange, () => this.#waitToEnter(exchange, keyId));
  }

  async #waitToEnter(exchange: Exchange, keyId: string): Promise<void> {
    const { signal } = exchange;
    if (!(await this.#all.enter(signal)))
      throw exchange.endedBy ?? busy("The gateway is at its limit of concurrent requests.");
    if (!(await this.#perKey.enter(keyId, signal))) {
      this.#all.leave();
      throw exchange.endedBy ?? busy("This key is at its limit of concurrent requests.");
    }
    this.#exchanges.add(exchange);
    this.admitted += 1;
    if (exchange.endedBy === null) return;
    this.leave(exchange, keyId);
    throw exchange.endedBy;
  }

  /** Runs work that needs no place. A shutdown waits for it and interrupts it like any other. */
  async withoutPlace<Result>(exchange: Exchange, work: () => Promise<Result>): Promise<Result> {
    const waiting = { exchange };
    this.#placeless.add(waiting);
    try {
      return await work();
    } finally {
      this.#leavePlaceless(waiting);
    }
  }

  /** The same for work that does not end with its exchange: after an interruption it is awaited no longer. */
  untilInterrupted<Result>(exchange: Exchange, work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const interrupt = (error: unknown) => {
        this.#leavePlaceless(waiting);
        reject(error);
      };
      const waiting = { exchange, interrupt };
      this.#placeless.add(waiting);
      work.then((result) => {
        this.#leavePlaceless(waiting);
        resolve(result);
      }, interrupt);
    });
  }

  #leavePlaceless(waiting: Placeless): void {
    if (this.#placeless.delete(waiting)) this.#tellIfEmpty();
  }

  leave(exchange: Exchange, keyId: string): void {
    if (!this.#exchanges.delete(exchange)) return;
    this.#all.leave();
    this.#perKey.leave(keyId);
    this.#tellIfEmpty();
  }

  get size(): number {
    return this.#exchanges.size;
  }

  #refuseWhenOverloaded({ call }: Exchange): void {
    if (!this.isBehindProxy && call.isForwarded) this.isBehindProxy = true;
    // A proxy's last requests, on connections that it has kept, are served.
    if (this.isDraining && !call.isForwarded) throw busy("The gateway is shutting down; try again shortly.");
    if (this.#limits.lagMs() > overloadLagMs) throw busy("The gateway is overloaded; try again shortly.");
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

  /** Streams that have begun end in-band; everything else is answered with the error. */
  interruptAll(error: GatewayError): void {
    for (const exchange of this.#exchanges) {
      if (exchange.pump === null) exchange.end(error);
      else exchange.pump.interrupt(error);
    }
    for (const waiting of this.#placeless) {
      waiting.exchange.end(error);
      waiting.interrupt?.(error);
    }
  }

  /** Nothing is in flight, with or without a place. */
  get isEmpty(): boolean {
    return this.#exchanges.size === 0 && this.#placeless.size === 0;
  }

  #tellIfEmpty(): void {
    if (this.isEmpty) this.#whenEmpty?.();
  }
}

function busy(message: string): GatewayError {
  return new GatewayError("service_unavailable", message);
}

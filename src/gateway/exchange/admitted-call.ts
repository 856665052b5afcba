import { GatewayError } from "../../base/errors.ts";
import type { BodyReservation } from "../../limits/body-budget.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { JobOwner } from "../body-worker/job.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";

/** Much less than a provider may take to respond: what waits here keeps its own request in memory. */
export const maxMemoryWaitMs = 10_000;

/**
 * A request after admission. Each stage of a request (request/route.ts has the next) is created once, when its step has
 * succeeded, and is immutable. A step takes the stage that it needs, so that it cannot run too early and needs no
 * checks. The exchange has the facts that are true of every call, at any stage. Here: the key is valid, and within its
 * request rate.
 */
export class AdmittedCall implements JobOwner {
  readonly gateway: Gateway;
  readonly exchange: Exchange;
  readonly key: KeyRecord;

  constructor(gateway: Gateway, exchange: Exchange, key: KeyRecord) {
    this.gateway = gateway;
    this.exchange = exchange;
    this.key = key;
  }

  get keyId(): string {
    return this.key.id;
  }

  /** Whether the key or its account has limits of tokens per minute. */
  get hasTokenLimits(): boolean {
    return this.key.tpmLimits !== null || this.key.accountTpmLimits !== null;
  }

  get configured(): ActiveConfig {
    return this.exchange.configured;
  }

  get pricedAtMs(): number {
    return this.exchange.pricedAtMs;
  }

  get isOver(): boolean {
    return this.exchange.isOver;
  }

  /** Waits for memory for a large body. Rejects if the exchange ends first. */
  async awaitMemory(bytes: number): Promise<void> {
    if (bytes >= largeBodyBytes) await this.#growMemory(bytes, true);
  }

  /** As `awaitMemory`, for a body that is read from the store. Throws if the key reads too many at once, or there is no memory. */
  async awaitStored(bytes: number): Promise<void> {
    if (bytes < largeBodyBytes) return;
    this.exchange.taken.download ??= this.gateway.downloads.tryTake(this.keyId);
    if (this.exchange.taken.download === null) throw tooManyDownloads();
    if (!(await this.#growMemory(bytes, false))) throw noResponseMemory();
  }

  async #growMemory(bytes: number, mayExceed: boolean): Promise<boolean> {
    const { exchange } = this;
    exchange.taken.memory ??= this.#reserve();
    const isReserved = await exchange.taken.memory.growWhenFree(bytes, maxMemoryWaitMs, mayExceed);
    exchange.signal.throwIfAborted();
    return isReserved;
  }

  /** Takes a slot for a body that is stored while it arrives, until the exchange ends. Throws if none is left for the key. */
  takeFormSlot(): void {
    this.exchange.taken.formSlot = this.gateway.formSlots.reserve(this.keyId);
    if (!this.exchange.taken.formSlot.grow(1)) throw tooManyForms();
  }

  #reserve(): BodyReservation {
    const reservation = this.gateway.answers.reserve(this.key.id);
    this.exchange.signal.addEventListener("abort", () => reservation.release(), { once: true });
    return reservation;
  }
}

function tooManyDownloads(): GatewayError {
  const message = "This key has the maximum number of downloads in progress. Retry when one finishes.";
  return new GatewayError("rate_limit_exceeded", message, { retryAfterSeconds: 5 });
}

function tooManyForms(): GatewayError {
  const message = "This key has the maximum number of uploads in progress. Retry when one finishes.";
  return new GatewayError("service_unavailable", message);
}

function noResponseMemory(): GatewayError {
  const message = "The gateway has no memory left for another large response. Retry in a few seconds.";
  return new GatewayError("service_unavailable", message);
}

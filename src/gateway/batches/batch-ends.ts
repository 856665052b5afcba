import { effectiveStatus } from "../../keys/keyring.ts";
import type { BatchEnd, KeyRecord } from "../../store/store.ts";
import type { Gateway } from "../exchange/gateway.ts";
import type { OpenBatch } from "./open-batch.ts";

/** Ends batches whose time is over, and notes what others wait for. */
export class BatchEnds {
  readonly #gateway: Gateway;

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  /**
   * Ends a batch that was cancelled, has expired, or has waited too long. What runs of it ends before. `isFull`: its key has no room.
   * Null if it goes on.
   */
  async endIfDue(batch: OpenBatch, isFull: boolean): Promise<"ended" | "cancelled" | null> {
    const { keys, clock, batches } = this.#gateway;
    const { shown, id, keyId } = batch;
    const key = keys.byId(keyId);
    if ((key === null || key.status === "revoked") && shown.status !== "cancelling") {
      await batches.store.batches.cancel(keyId, id, Math.floor(clock.wallMs()));
      return "cancelled";
    }
    if (batch.running > 0) return null;
    if (await this.#finish(batch)) return "ended";
    if (key !== null) await this.#noteWait(batch, key, isFull);
    return null;
  }

  async #finish(batch: OpenBatch): Promise<boolean> {
    const { clock, batches } = this.#gateway;
    const { finish } = batches.store.batches;
    const { shown, id } = batch;
    const end = this.endOf(batch);
    if (shown.status === "cancelling") return finish(id, "cancelled", "batch_cancelled", end);
    if (batch.expiresAtMs <= clock.monotonicMs()) return finish(id, "expired", "batch_expired", end);
    const { waitForFundsMs } = this.#gateway.configured.settings.batches;
    if (!batch.hasWaited(waitForFundsMs, clock.monotonicMs())) return false;
    return finish(id, "completed", "insufficient_credit", end);
  }

  /** A key that cannot be used, or has no room, keeps its batches waiting. */
  async #noteWait(batch: OpenBatch, key: KeyRecord, isFull: boolean): Promise<void> {
    const isActive = effectiveStatus(key, this.#gateway.clock.wallMs()) === "active";
    const waitsFor = isActive ? (isFull ? "storage" : null) : "key";
    if (waitsFor !== null) await this.wait(batch, waitsFor);
  }

  async wait(batch: OpenBatch, waitsFor: string): Promise<void> {
    if (batch.waiting?.for === waitsFor && batch.shown.waitsFor === waitsFor) return;
    const { clock, batches } = this.#gateway;
    const waitsSinceMs = Math.floor(clock.wallMs());
    batch.waiting = { for: waitsFor, sinceMs: batch.waiting?.sinceMs ?? clock.monotonicMs() };
    await batches.store.batches.wait(batch.id, waitsFor, waitsSinceMs);
    batch.shown = { ...batch.shown, waitsFor, waitsSinceMs };
  }

  /** What it gets if it ends now. */
  endOf(batch: OpenBatch): BatchEnd {
    const { clock, configured } = this.#gateway;
    return batch.endAt(Math.floor(clock.wallMs()), configured.settings.batches.resultDays);
  }
}

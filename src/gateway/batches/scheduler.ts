import { msPerDay } from "../../base/clock.ts";
import { newId } from "../../base/id.ts";
import { modeOrigins } from "../../base/key-attributes.ts";
import { effectiveStatus } from "../../keys/keyring.ts";
import {
  type BatchEnd,
  type BatchRecord,
  type ClaimedLine,
  type KeyRecord,
  StoreError,
} from "../../store/store.ts";
import { Outbox } from "./at-provider/outbox.ts";
import { ProviderPoller } from "./at-provider/poller.ts";
import { ReturnedLines } from "./at-provider/returned-lines.ts";
import { readRequestOf } from "./batch-object.ts";
import { InputReader } from "./input-file.ts";
import { OpenBatch } from "./open-batch.ts";
import { type LineOutcome, type LineServing, runLine } from "./run-line.ts";

/** While there are batches, the store is read this often; interactive calls that have to wait are looked for more often. */
const [tickMs, crowdedMs] = [1000, 50];
/** A store that cannot be written to is tried again. */
const retryMs = 500;

/**
 * Runs the lines of batches: some of each key in turn, oldest batch first, and none while interactive calls have to wait. Which lines
 * have run, and which process runs one, is in the store. Without batches it does nothing, not even wait.
 */
export class BatchScheduler {
  readonly #serving: LineServing;
  readonly #onError: (error: unknown) => void;
  readonly #outbox: Outbox;
  readonly #poller: ProviderPoller;
  /** Oldest first. */
  #open = new Map<string, OpenBatch>();
  /** Keys whose files and results take all of their bytes. */
  #full: ReadonlySet<string> = new Set();
  /** When a line of the key was started last, as a number that grows. */
  readonly #servedAt = new Map<string, number>();
  #served = 0;
  /** By the names of lines. */
  readonly #running = new Map<string, { readonly keyId: string; readonly end: Promise<void> }>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #working: Promise<void> | null = null;
  #mustRead = true;
  #isWoken = false;
  #isStopped = false;

  constructor(serving: LineServing, onError: (error: unknown) => void) {
    this.#serving = serving;
    this.#onError = onError;
    const { gateway } = serving;
    const lines = new ReturnedLines({
      gateway,
      run: (batch, line, returned) => runLine(serving, batch, line, { returned }),
      take: (batch, line, outcome) => this.#persistently(() => this.#take(batch, line, outcome)),
      track: (batch, line, work) => this.#track(batch, line.no, work),
    });
    this.#outbox = new Outbox({ gateway, onError, giveUp: (...given) => lines.giveUp(...given) });
    this.#poller = new ProviderPoller({ gateway, lines, onError });
  }

  /** How many lines run. */
  get inFlight(): number {
    return this.#running.size;
  }

  /** Something has changed: batches, credit or keys. */
  wake(): void {
    for (const batch of this.#open.values()) if (batch.shown.waitsFor !== null) batch.notBeforeMs = 0;
    this.#mustRead = true;
    this.#proceed();
  }

  /** Resolves when nothing runs any more. The gateway drains by then. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#poller.stop();
    await this.#working;
    await Promise.all([...this.#running.values()].map(({ end }) => end));
    await this.#outbox.stop();
  }

  #proceed(): void {
    this.#isWoken = true;
    this.#working ??= this.#work()
      .catch(this.#onError)
      .finally(() => {
        this.#working = null;
      });
  }

  async #work(): Promise<void> {
    while (this.#isWoken && !this.#isStopped) {
      this.#isWoken = false;
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
      try {
        if (this.#mustRead) await this.#read();
        this.#poller.poll(this.#open.values());
        for (const batch of this.#open.values()) await this.#endIfDue(batch);
        await this.#fill();
      } finally {
        this.#sleep();
      }
    }
  }

  #sleep(): void {
    if (this.#open.size === 0 || this.#isStopped) return;
    const { configured } = this.#serving.gateway;
    this.#timer ??= setTimeout(
      () => {
        this.#mustRead = !this.#isCrowded;
        this.#proceed();
      },
      this.#isCrowded ? crowdedMs : Math.min(tickMs, configured.settings.batches.providerPollMs),
    );
    this.#timer.unref();
  }

  async #read(): Promise<void> {
    this.#mustRead = false;
    const { batches, configured } = this.#serving.gateway;
    const { store } = batches;
    const found = await store.batches.open();
    if (found.length > 0) {
      batches.counts.interrupted += await store.batches.free(batches.node, [
        ...this.#running.keys(),
        ...this.#outbox.names,
      ]);
    }
    const entries = found.map((shown) => [shown.id, this.#opened(shown)] as const);
    this.#open = new Map(entries);
    const keyIds = new Set(found.map((batch) => batch.keyId));
    for (const keyId of this.#servedAt.keys()) if (!keyIds.has(keyId)) this.#servedAt.delete(keyId);
    const full = new Set<string>();
    for (const keyId of keyIds) {
      if ((await store.uploads.bytesOf(keyId)) >= configured.settings.batches.bytesPerKey) full.add(keyId);
    }
    this.#full = full;
  }

  #opened(shown: BatchRecord): OpenBatch {
    const known = this.#open.get(shown.id);
    if (known !== undefined) {
      known.shown = shown;
      return known;
    }
    const { keys, batches, configured } = this.#serving.gateway;
    const origin = modeOrigins[keys.byId(shown.keyId)?.mode ?? "credit"];
    const { encryptionKey: key } = configured.settings.responses;
    const input = new InputReader({ records: batches.store.uploads, key }, shown.fileId);
    return new OpenBatch(shown, origin + shown.endpoint, readRequestOf(shown, key), input);
  }

  /** Ends a batch that was cancelled, has expired, or has waited too long. What runs of it ends before. */
  async #endIfDue(batch: OpenBatch): Promise<void> {
    const { keys, clock, batches } = this.#serving.gateway;
    const { shown, id, keyId } = batch;
    const nowMs = clock.wallMs();
    const key = keys.byId(keyId);
    if ((key === null || key.status === "revoked") && shown.status !== "cancelling") {
      await batches.store.batches.cancel(keyId, id, Math.floor(nowMs));
      this.#mustRead = this.#isWoken = true;
      return;
    }
    if (batch.running > 0) return;
    const { finish } = batches.store.batches;
    const end = this.#batchEnd(batch);
    const hasEnded =
      shown.status === "cancelling"
        ? await finish(id, "cancelled", "batch_cancelled", end)
        : shown.expiresAtMs <= nowMs
          ? await finish(id, "expired", "batch_expired", end)
          : this.#hasWaitedLong(batch, nowMs) && (await finish(id, "completed", "insufficient_credit", end));
    if (hasEnded) this.#open.delete(id);
    else if (key !== null) await this.#noteWait(batch, key, nowMs);
  }

  #hasWaitedLong({ shown, resetsAtMs }: OpenBatch, nowMs: number): boolean {
    const { waitForFundsMs } = this.#serving.gateway.configured.settings.batches;
    if (shown.waitsSinceMs === null || shown.waitsFor === "key" || shown.isPaused) return false;
    if (resetsAtMs !== null && resetsAtMs < shown.expiresAtMs) return false;
    return nowMs - shown.waitsSinceMs >= waitForFundsMs;
  }

  /** A key that cannot be used, or has no room, keeps its batches waiting. */
  async #noteWait(batch: OpenBatch, key: KeyRecord, nowMs: number): Promise<void> {
    const isActive = effectiveStatus(key, nowMs) === "active";
    const waitsFor = isActive ? (this.#full.has(key.id) ? "storage" : null) : "key";
    if (waitsFor !== null && batch.shown.waitsFor !== waitsFor) await this.#wait(batch, waitsFor);
  }

  async #wait(batch: OpenBatch, waitsFor: string): Promise<void> {
    const { clock, batches } = this.#serving.gateway;
    const nowMs = Math.floor(clock.wallMs());
    await batches.store.batches.wait(batch.id, waitsFor, nowMs);
    batch.shown = { ...batch.shown, waitsFor, waitsSinceMs: batch.shown.waitsSinceMs ?? nowMs };
  }

  #batchEnd({ request: { outputMs } }: OpenBatch): BatchEnd {
    const { clock, configured } = this.#serving.gateway;
    const atMs = Math.floor(clock.wallMs());
    const keptUntilMs = atMs + configured.settings.batches.resultDays * msPerDay;
    const outputUntilMs = Math.min(keptUntilMs, atMs + (outputMs ?? Number.POSITIVE_INFINITY));
    return { atMs, keptUntilMs, outputUntilMs, outputFileId: newId("file-"), errorFileId: newId("file-") };
  }

  /** Interactive calls come first. */
  get #isCrowded(): boolean {
    return this.#serving.gateway.ongoing.isCrowded;
  }

  async #fill(): Promise<void> {
    const { gateway } = this.#serving;
    const { batches, clock, ongoing } = gateway;
    const { settings } = gateway.configured;
    while (this.#running.size < settings.batches.concurrency && !this.#isStopped) {
      if (ongoing.isDraining || this.#isCrowded || gateway.storeProblem() !== null) return;
      const batch = settings.routes.batches ? this.#next() : null;
      if (batch === null) return;
      const nowMs = Math.floor(clock.wallMs());
      const line = await batches.store.batches.claim(batch.id, batches.node, nowMs);
      if (line === null) batch.notBeforeMs = nowMs + tickMs;
      else this.#start(batch, line);
    }
  }

  /** The oldest batch that can go on, of the key that has waited longest. */
  #next(): OpenBatch | null {
    const { keys, clock, configured } = this.#serving.gateway;
    const nowMs = clock.wallMs();
    let next: OpenBatch | null = null;
    let nextServed = Number.POSITIVE_INFINITY;
    const seen = new Set<string>();
    for (const batch of this.#open.values()) {
      const { keyId, shown } = batch;
      const served = this.#servedAt.get(keyId) ?? 0;
      if (seen.has(keyId) || served >= nextServed) continue;
      const isRunning = shown.status === "in_progress" && !shown.isPaused && shown.expiresAtMs > nowMs;
      if (!isRunning || !batch.hasRoom(nowMs)) continue;
      const key = keys.byId(keyId);
      const canRun = key !== null && effectiveStatus(key, nowMs) === "active" && !this.#full.has(keyId);
      if (!canRun || this.#runningOf(keyId) >= linesOf(key, configured.settings.batches.concurrencyPerKey)) {
        seen.add(keyId);
        continue;
      }
      seen.add(keyId);
      next = batch;
      nextServed = served;
    }
    return next;
  }

  #runningOf(keyId: string): number {
    let running = 0;
    for (const line of this.#running.values()) if (line.keyId === keyId) running += 1;
    return running;
  }

  #start(batch: OpenBatch, line: ClaimedLine): void {
    this.#served += 1;
    this.#servedAt.set(batch.keyId, this.#served);
    void this.#track(batch, line.no, () => this.#run(batch, line));
  }

  #track(batch: OpenBatch, no: number, work: () => Promise<void>): Promise<void> {
    const name = `${batch.id} ${no}`;
    batch.running += 1;
    const end = work()
      .catch(this.#onError)
      .finally(() => {
        batch.running -= 1;
        this.#running.delete(name);
        if (!this.#isStopped) this.#proceed();
      });
    this.#running.set(name, { keyId: batch.keyId, end });
    return end;
  }

  async #run(batch: OpenBatch, line: ClaimedLine): Promise<void> {
    // What failed at a provider's own batch is run here.
    const provider = line.tries === 0 ? { sender: this.#outbox.sender(batch, line) } : {};
    const running = runLine(this.#serving, batch, line, provider);
    const outcome = await running.catch((error): LineOutcome => {
      this.#onError(error);
      return { kind: "again", afterMs: null, hasReached: true, cause: "busy" };
    });
    await this.#persistently(() => this.#take(batch, line, outcome));
  }

  async #take(batch: OpenBatch, line: ClaimedLine, outcome: LineOutcome): Promise<void> {
    const { batches, clock } = this.#serving.gateway;
    const { store } = batches;
    const nowMs = Math.floor(clock.wallMs());
    if (outcome.kind === "left") return;
    if (outcome.kind === "ended") {
      const isTaken = await store.batches.endLine(line, outcome.end, this.#batchEnd(batch));
      if (isTaken) batches.counts[outcome.end.status === 200 ? "completed" : "failed"] += 1;
      if (outcome.end.status < 500) batch.succeeded();
      // What it had reserved is free again.
      if (batch.shown.waitsFor !== null) batch.notBeforeMs = 0;
      batch.shown = { ...batch.shown, waitsFor: null, waitsSinceMs: null };
      // It may have been the last one.
      if (batch.running === 1) this.#mustRead = true;
      return;
    }
    if (outcome.kind === "wait") {
      await store.batches.requeue(line, nowMs, false);
      batch.notBeforeMs = nowMs + outcome.retryMs;
      batch.resetsAtMs = outcome.resetsAtMs;
      if (batch.shown.waitsFor !== outcome.waitsFor) await this.#wait(batch, outcome.waitsFor);
      return;
    }
    const pauseMs = pauseOf(batch, line, outcome, nowMs);
    await store.batches.requeue(line, Math.ceil(nowMs + pauseMs), outcome.hasReached);
  }

  async #persistently(work: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        // What was charged is stored: at the next start the line gets its result.
        if (!(error instanceof StoreError) || this.#isStopped) throw error;
        await Bun.sleep(retryMs);
      }
    }
  }
}

function pauseOf(
  batch: OpenBatch,
  { tries }: ClaimedLine,
  { cause, afterMs }: Extract<LineOutcome, { readonly kind: "again" }>,
  nowMs: number,
): number {
  if (cause === null) return afterMs ?? 0;
  return cause === "busy" ? batch.slowDown(nowMs, afterMs) : batch.failed(nowMs, afterMs, tries);
}

/** Lines take at most half of what the key may have in flight. */
function linesOf({ maxConcurrent }: KeyRecord, perKey: number): number {
  return maxConcurrent === null ? perKey : Math.min(perKey, Math.max(1, Math.floor(maxConcurrent / 2)));
}

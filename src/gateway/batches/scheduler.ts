import { modeOrigins } from "../../base/key-attributes.ts";
import { effectiveStatus } from "../../keys/keyring.ts";
import { type BatchRecord, type ClaimedLine, StoreError } from "../../store/store.ts";
import { Outbox } from "./at-provider/outbox.ts";
import { ProviderPoller } from "./at-provider/poller.ts";
import { ReturnedLines } from "./at-provider/returned-lines.ts";
import { BatchEnds } from "./batch-ends.ts";
import { readRequestOf } from "./batch-object.ts";
import { InputReader } from "./input-file.ts";
import { LinePacer } from "./line-pacer.ts";
import { OpenBatch } from "./open-batch.ts";
import { type LineOutcome, type LineServing, runLine } from "./run-line.ts";
import { type Throttle, Throttles } from "./throttle.ts";

/** While there are batches, the store is read this often; what keeps lines from starting is looked for more often. */
const [tickMs, heldBackMs] = [1000, 250];
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
  readonly #ends: BatchEnds;
  readonly #pacer: LinePacer;
  /** Oldest first. */
  #open = new Map<string, OpenBatch>();
  /** Keys whose files and results take all of their bytes. */
  #full: ReadonlySet<string> = new Set();
  /** When a line of the key was started last, as a number that grows. */
  readonly #servedAt = new Map<string, number>();
  #served = 0;
  readonly #throttles = new Throttles();
  /** Both clocks at the start. A line is due by the wall clock as it would have moved since. */
  readonly #start: { readonly wallMs: number; readonly monotonicMs: number };
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
    this.#ends = new BatchEnds(gateway);
    this.#pacer = new LinePacer(gateway);
    this.#start = this.#moment;
    const lines = new ReturnedLines({
      gateway,
      pacer: this.#pacer,
      run: (batch, line, returned) => runLine(serving, batch, line, { returned }),
      take: (batch, line, outcome) => {
        const run = { ...outcome, wakes: batch.wakes, throttle: this.#throttleOf(line) };
        return this.#persistently(() => this.#take(batch, line, run));
      },
      track: (batch, line, work) => this.#track(batch, line.no, work),
      slowDown: (place) => this.#throttles.at(place).slowDown(this.#nowMs, null),
    });
    this.#outbox = new Outbox({ gateway, onError, giveUp: (...given) => lines.giveUp(...given) });
    this.#poller = new ProviderPoller({ gateway, lines, onError });
  }

  get #moment() {
    const { clock } = this.#serving.gateway;
    return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
  }

  get #nowMs(): number {
    return this.#serving.gateway.clock.monotonicMs();
  }

  /** For lines: this long after now. */
  #dueMs(afterMs = 0): number {
    const { wallMs, monotonicMs } = this.#start;
    return Math.ceil(wallMs + this.#nowMs - monotonicMs + afterMs);
  }

  #throttleOf({ model }: ClaimedLine): Throttle {
    return this.#throttles.of(this.#serving.gateway.configured, model);
  }

  /** How many lines run. */
  get inFlight(): number {
    return this.#running.size;
  }

  /** Something has changed: batches, credit or keys. */
  wake(): void {
    for (const batch of this.#open.values()) batch.wake();
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
        for (const batch of this.#open.values()) {
          const end = await this.#ends.endIfDue(batch, this.#full.has(batch.keyId));
          if (end === "ended") this.#open.delete(batch.id);
          else if (end === "cancelled") this.#mustRead = this.#isWoken = true;
        }
        await this.#fill();
      } finally {
        this.#sleep();
      }
    }
  }

  #sleep(): void {
    if (this.#open.size === 0 || this.#isStopped) return;
    const { providerPollMs } = this.#serving.gateway.configured.settings.batches;
    const isHeldBack = [...this.#open.values()].some((batch) => batch.isHeldBack);
    const { waitMs } = this.#pacer;
    const soonMs = Math.min(isHeldBack ? heldBackMs : tickMs, providerPollMs);
    this.#timer ??= setTimeout(
      () => {
        this.#mustRead ||= waitMs === 0;
        this.#proceed();
      },
      waitMs === 0 ? soonMs : waitMs,
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
      if ((await store.uploads.bytesOf(keyId)) >= configured.settings.batches.bytesPerKeyBytes)
        full.add(keyId);
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
    const parts = { path: origin + shown.endpoint, request: readRequestOf(shown, key), input };
    return new OpenBatch(shown, parts, this.#moment);
  }

  async #fill(): Promise<void> {
    const { gateway } = this.#serving;
    const { batches, ongoing } = gateway;
    const { settings } = gateway.configured;
    while (this.#running.size < settings.batches.concurrency && !this.#isStopped) {
      if (ongoing.isDraining || this.#pacer.waitMs > 0 || gateway.storeProblem() !== null) return;
      const batch = settings.routes.batches ? this.#next() : null;
      if (batch === null) return;
      const busy = this.#busyModels();
      const line = await batches.store.batches.claim(batch.id, batches.node, this.#dueMs(), busy);
      batch.isHeldBack = line === null && busy.length > 0;
      if (line === null) batch.notBeforeMs = this.#nowMs + (batch.isHeldBack ? heldBackMs : tickMs);
      else await this.#startIn(batch, line);
    }
  }

  /** Models whose deployments are too busy for lines: with lines, or with interactive calls. */
  #busyModels(): string[] {
    const { upstream } = this.#serving.gateway.configured;
    return [...this.#throttles.waiting(this.#nowMs), ...upstream.crowdedModels()];
  }

  async #startIn(batch: OpenBatch, line: ClaimedLine): Promise<void> {
    const { batches } = this.#serving.gateway;
    const throttle = this.#throttleOf(line);
    if (throttle.hasRoom(this.#nowMs)) this.#begin(batch, line, throttle);
    else {
      // From now on it is known that lines of this model have to wait.
      await batches.store.batches.requeue(line, this.#dueMs(heldBackMs), false);
      if (line.model === null) batch.notBeforeMs = this.#nowMs + heldBackMs;
    }
  }

  /** The oldest batch that can go on, of the key that has waited longest and has a slot left. */
  #next(): OpenBatch | null {
    const due = this.#due();
    const running = new Map<string, number>();
    for (const { keyId } of this.#running.values()) running.set(keyId, (running.get(keyId) ?? 0) + 1);
    const keyIds = new Set([...due.keys(), ...running.keys()]);
    const { concurrency, concurrencyPerKey } = this.#serving.gateway.configured.settings.batches;
    let next: OpenBatch | null = null;
    let nextServed = Number.POSITIVE_INFINITY;
    for (const [keyId, batch] of due) {
      const served = this.#servedAt.get(keyId) ?? 0;
      const own = running.get(keyId) ?? 0;
      // Alone, a key leaves nothing free. Otherwise slow lines of a few keys would stop all others.
      const left = concurrency - (this.#running.size - own);
      const share = keyIds.size === 1 ? concurrency : Math.max(1, Math.floor(left / 2));
      if (served >= nextServed || own >= Math.min(share, concurrencyPerKey)) continue;
      next = batch;
      nextServed = served;
    }
    return next;
  }

  /** The oldest batch of each key that could start a line now. */
  #due(): ReadonlyMap<string, OpenBatch> {
    const { keys, clock } = this.#serving.gateway;
    const nowMs = this.#nowMs;
    const due = new Map<string, OpenBatch>();
    for (const batch of this.#open.values()) {
      const { keyId, shown } = batch;
      const isRunning = shown.status === "in_progress" && !shown.isPaused && batch.expiresAtMs > nowMs;
      if (due.has(keyId) || !isRunning || nowMs < batch.notBeforeMs || this.#full.has(keyId)) continue;
      const key = keys.byId(keyId);
      if (key !== null && effectiveStatus(key, clock.wallMs()) === "active") due.set(keyId, batch);
    }
    return due;
  }

  #begin(batch: OpenBatch, line: ClaimedLine, throttle: Throttle): void {
    this.#served += 1;
    this.#servedAt.set(batch.keyId, this.#served);
    this.#pacer.started();
    throttle.running += 1;
    const run = this.#run.bind(this, batch, line, throttle);
    void this.#track(batch, line.no, () =>
      run().finally(() => {
        throttle.running -= 1;
      }),
    );
  }

  #track(batch: OpenBatch, no: number, work: () => Promise<void>): Promise<void> {
    const name = `${batch.id} ${no}`;
    batch.running += 1;
    const end = work()
      .catch(this.#onError)
      .finally(() => {
        batch.running -= 1;
        this.#running.delete(name);
        for (const each of this.#open.values()) if (each.isHeldBack) each.notBeforeMs = 0;
        if (!this.#isStopped) this.#proceed();
      });
    this.#running.set(name, { keyId: batch.keyId, end });
    return end;
  }

  async #run(batch: OpenBatch, line: ClaimedLine, throttle: Throttle): Promise<void> {
    const { wakes } = batch;
    // What failed at a provider's own batch is run here.
    const provider = line.tries === 0 ? { sender: this.#outbox.sender(batch, line) } : {};
    const running = runLine(this.#serving, batch, line, provider);
    const outcome = await running.catch((error): LineOutcome => {
      this.#onError(error);
      return { kind: "again", afterMs: null, hasReached: true, cause: "busy" };
    });
    await this.#persistently(() => this.#take(batch, line, { ...outcome, wakes, throttle }));
  }

  async #take(batch: OpenBatch, line: ClaimedLine, run: Run): Promise<void> {
    const { batches } = this.#serving.gateway;
    const { store } = batches;
    const { throttle, wakes } = run;
    if (run.kind === "left") return;
    if (run.kind === "ended") {
      const isTaken = await store.batches.endLine(line, run.end, this.#ends.endOf(batch));
      if (isTaken) batches.counts[run.end.status === 200 ? "completed" : "failed"] += 1;
      if (run.end.status < 500) throttle.succeeded();
      // What it had reserved is free again.
      if (batch.waiting !== null) batch.notBeforeMs = 0;
      batch.wakes += 1;
      batch.waiting = null;
      batch.shown = { ...batch.shown, waitsFor: null, waitsSinceMs: null };
      // It may have been the last one.
      if (batch.running === 1) this.#mustRead = true;
      return;
    }
    if (run.kind === "wait") {
      await store.batches.requeue(line, this.#dueMs(), false);
      batch.resetsAtMs = run.resetsInMs === null ? null : this.#nowMs + run.resetsInMs;
      await this.#ends.wait(batch, run.waitsFor);
      // What was denied before a top-up may be affordable since.
      if (batch.wakes === wakes) batch.notBeforeMs = this.#nowMs + run.retryMs;
      return;
    }
    const pauseMs = throttle.pauseAfter(run, line.tries, this.#nowMs);
    if (run.cause === "limit") batch.notBeforeMs = this.#nowMs + pauseMs;
    await store.batches.requeue(line, this.#dueMs(pauseMs), run.hasReached, run.isCancelled);
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

/** A run, with what was true when it began. */
type Run = LineOutcome & { readonly wakes: number; readonly throttle: Throttle };

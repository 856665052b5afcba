import { msPerDay } from "../../base/clock.ts";
import { newId } from "../../base/id.ts";
import type { BatchEnd, BatchRecord } from "../../store/store.ts";
import type { BatchRequest } from "./batch-object.ts";
import type { InputReader } from "./input-file.ts";

interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** What an open batch is made of, beyond its record. */
interface OpenBatchParts {
  /** The path of its lines, on the origin of its key. */
  readonly path: string;
  readonly request: BatchRequest;
  readonly input: InputReader;
}

/** A batch that has not ended, and what this process knows of it. Times are monotonic: a clock that jumps neither ends nor extends it. */
export class OpenBatch {
  readonly id: string;
  readonly keyId: string;
  readonly path: string;
  readonly request: BatchRequest;
  readonly input: InputReader;
  /** As it was read last. */
  shown: BatchRecord;
  running = 0;
  /** What providers have of it is looked at soon, because it was cancelled or has expired. */
  isHurried = false;
  /** No line of it starts before. */
  notBeforeMs = 0;
  /** How often there was a reason to look again, such as credit. */
  wakes = 0;
  /** What it waits for, and since when; null while it runs. */
  waiting: { readonly for: string; readonly sinceMs: number } | null;
  /**
   * When the limit resets for which this process could not start a line, null if that is not known. Undefined until it has tried: what
   * it waits for may be over since the wait was noted, by another process or before a restart.
   */
  resetsAtMs: number | null | undefined;
  /** Lines of it are due whose deployments have to wait. */
  isHeldBack = false;
  readonly expiresAtMs: number;

  constructor(shown: BatchRecord, { path, request, input }: OpenBatchParts, { wallMs, monotonicMs }: Moment) {
    const { id, keyId, createdAtMs, expiresAtMs, waitsFor, waitsSinceMs } = shown;
    this.id = id;
    this.keyId = keyId;
    this.path = path;
    this.request = request;
    this.input = input;
    this.shown = shown;
    this.expiresAtMs = monotonicMs + Math.min(expiresAtMs - wallMs, expiresAtMs - createdAtMs);
    const waitedMs = Math.max(0, wallMs - (waitsSinceMs ?? wallMs));
    this.waiting = waitsFor === null ? null : { for: waitsFor, sinceMs: monotonicMs - waitedMs };
  }

  /** What it gets if it ends now. */
  endAt(atMs: number, resultDays: number): BatchEnd {
    const keptUntilMs = atMs + resultDays * msPerDay;
    const outputUntilMs = Math.min(keptUntilMs, atMs + (this.request.outputMs ?? Number.POSITIVE_INFINITY));
    return { atMs, keptUntilMs, outputUntilMs, outputFileId: newId("file-"), errorFileId: newId("file-") };
  }

  /** Whether it has waited so long for money or space that its rest ends. A limit that resets in time is waited for. */
  hasWaited(limitMs: number, nowMs: number): boolean {
    if (this.waiting === null || this.shown.isPaused) return false;
    const { for: waitsFor, sinceMs } = this.waiting;
    if (waitsFor === "key" || waitsFor === "provider") return false;
    if (this.resetsAtMs === undefined && waitsFor !== "storage") return false;
    return nowMs - sinceMs >= limitMs && (this.resetsAtMs ?? Number.POSITIVE_INFINITY) >= this.expiresAtMs;
  }

  /** What kept its lines from starting may be over. */
  wake(): void {
    this.wakes += 1;
    this.notBeforeMs = 0;
  }
}

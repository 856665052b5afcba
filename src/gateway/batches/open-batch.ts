import type { BatchRecord } from "../../store/store.ts";
import type { BatchRequest } from "./batch-object.ts";
import type { InputReader } from "./input-file.ts";

/** Runs of a batch at once are halved when its provider is busy, and grow again by one after this long without. */
const growMs = 10_000;
const [firstPauseMs, maxPauseMs] = [1000, 300_000];
/** Single lines fail now and then. More of them one after the other are the provider's failure. */
const toleratedFailures = 3;

function withJitter(pauseMs: number): number {
  return Math.min(pauseMs * (1 + Math.random() / 4), maxPauseMs);
}

/** A batch that has not ended, and what this process knows of it. */
export class OpenBatch {
  readonly id: string;
  readonly keyId: string;
  /** The path of its lines, on the origin of its key. */
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
  /** When the limit resets that it waits for; null if that is not known. */
  resetsAtMs: number | null = null;
  #limit = Number.POSITIVE_INFINITY;
  #grewAtMs = 0;
  #pauseMs = firstPauseMs;
  #slowUntilMs = 0;
  #failuresInRow = 0;

  constructor(shown: BatchRecord, path: string, request: BatchRequest, input: InputReader) {
    this.id = shown.id;
    this.keyId = shown.keyId;
    this.path = path;
    this.request = request;
    this.input = input;
    this.shown = shown;
  }

  /** Whether another line may start, as far as its provider goes. */
  hasRoom(nowMs: number): boolean {
    if (nowMs < this.notBeforeMs) return false;
    if (this.#limit !== Number.POSITIVE_INFINITY && nowMs - this.#grewAtMs >= growMs) {
      this.#limit += 1;
      this.#grewAtMs = nowMs;
    }
    return this.running < this.#limit;
  }

  /** Returns how long the line waits that found its provider busy. Others wait, too. */
  slowDown(nowMs: number, afterMs: number | null): number {
    // Lines that ran at once are all rejected at once: the first of them slows the batch down.
    if (nowMs >= this.#slowUntilMs) {
      this.#limit = Math.max(1, Math.floor(Math.min(this.#limit, this.running + 1) / 2));
      this.#grewAtMs = nowMs;
      this.#slowUntilMs = nowMs + withJitter(this.#pauseMs);
      this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs);
    }
    this.#slowUntilMs = Math.max(this.#slowUntilMs, nowMs + withJitter(afterMs ?? 0));
    this.notBeforeMs = Math.max(this.notBeforeMs, this.#slowUntilMs);
    return this.#slowUntilMs - nowMs;
  }

  /** Returns how long a line waits whose provider failed it after so many tries. Others wait if all of them fail. */
  failed(nowMs: number, afterMs: number | null, tries: number): number {
    this.#failuresInRow += 1;
    if (this.#failuresInRow > toleratedFailures) return this.slowDown(nowMs, afterMs);
    return withJitter(Math.max(afterMs ?? 0, firstPauseMs * 2 ** tries));
  }

  /** A line was answered. */
  succeeded(): void {
    this.#pauseMs = firstPauseMs;
    this.#failuresInRow = 0;
  }
}

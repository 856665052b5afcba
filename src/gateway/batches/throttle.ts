import type { ModelSettings } from "../../config/settings.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { RunAgain } from "./run-line.ts";

/** Lines at once are halved when their provider is busy, and grow again by one after this long without. */
const growMs = 10_000;
const [firstPauseMs, maxPauseMs] = [1000, 300_000];
/** Single lines fail now and then. More of them one after the other are the provider's failure. */
const toleratedFailures = 3;

function withJitter(pauseMs: number): number {
  return Math.min(pauseMs * (1 + Math.random() / 4), maxPauseMs);
}

/** How many lines of all batches a deployment gets at once. Times are monotonic. */
export class Throttle {
  running = 0;
  /** Half of the deployment's slots, because the others are for interactive calls, and half of those for lines. */
  max = Number.POSITIVE_INFINITY;
  #limit = Number.POSITIVE_INFINITY;
  #grewAtMs = 0;
  #pauseMs = firstPauseMs;
  #slowUntilMs = 0;
  #failuresInRow = 0;

  /** Whether another line may start. */
  hasRoom(nowMs: number): boolean {
    if (nowMs < this.#slowUntilMs) return false;
    if (this.#limit !== Number.POSITIVE_INFINITY && nowMs - this.#grewAtMs >= growMs) {
      this.#limit += 1;
      this.#grewAtMs = nowMs;
    }
    return this.running < Math.min(this.#limit, this.max);
  }

  /** Returns how long the line waits that found its provider busy. Others wait, too. */
  slowDown(nowMs: number, afterMs: number | null): number {
    // Lines that ran at once are all rejected at once: the first of them slows the others down.
    if (nowMs >= this.#slowUntilMs) {
      this.#limit = Math.max(1, Math.floor(Math.min(this.#limit, this.running + 1) / 2));
      this.#grewAtMs = nowMs;
      this.#slowUntilMs = nowMs + withJitter(this.#pauseMs);
      this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs);
    }
    this.#slowUntilMs = Math.max(this.#slowUntilMs, nowMs + withJitter(afterMs ?? 0));
    return this.#slowUntilMs - nowMs;
  }

  /** Returns how long a line waits whose provider failed it after so many tries. Others wait if all of them fail. */
  failed(nowMs: number, afterMs: number | null, tries: number): number {
    this.#failuresInRow += 1;
    if (this.#failuresInRow > toleratedFailures) return this.slowDown(nowMs, afterMs);
    return withJitter(Math.max(afterMs ?? 0, firstPauseMs * 2 ** tries));
  }

  /** How long a line waits that runs again. */
  pauseAfter({ cause, afterMs }: RunAgain, tries: number, nowMs: number): number {
    if (cause === "busy") return this.slowDown(nowMs, afterMs);
    return cause === "failed" ? this.failed(nowMs, afterMs, tries) : (afterMs ?? 0);
  }

  /** A line was answered. */
  succeeded(): void {
    this.#pauseMs = firstPauseMs;
    this.#failuresInRow = 0;
  }
}

interface PlaceEntry {
  readonly throttle: Throttle;
  readonly models: Set<string>;
}

/** The throttles of this process. */
export class Throttles {
  readonly #byPlace = new Map<string, PlaceEntry>();

  /** The throttle of a line that calls this model; null is a line whose model is not known. */
  of({ catalog, settings }: Pick<ActiveConfig, "catalog" | "settings">, id: string | null): Throttle {
    const model = id === null ? undefined : catalog.find(id);
    const place = model === undefined ? (id ?? "") : placeOf(model);
    const { throttle, models } = this.#entryAt(place);
    if (id !== null) models.add(id);
    // A provider that takes long must leave slots for lines of others.
    const ofLines = Math.max(1, Math.floor(settings.batches.concurrency / 2));
    throttle.max = model === undefined ? ofLines : Math.min(halfOfSlots(model), ofLines);
    return throttle;
  }

  /** The throttle of a deployment, `provider/upstream_model`. */
  at(place: string): Throttle {
    return this.#entryAt(place).throttle;
  }

  #entryAt(place: string): PlaceEntry {
    return this.#byPlace.getOrInsertComputed(place, () => ({ throttle: new Throttle(), models: new Set() }));
  }

  /** The models whose lines have to wait. */
  waiting(nowMs: number): string[] {
    return [...this.#byPlace.values()].flatMap(({ throttle, models }) =>
      throttle.hasRoom(nowMs) ? [] : [...models],
    );
  }
}

function halfOfSlots({ deployments }: ModelSettings): number {
  const slots = deployments.reduce(
    (sum, { maxConcurrent }) => sum + (maxConcurrent ?? Number.POSITIVE_INFINITY),
    0,
  );
  return Math.max(1, Math.floor(slots / 2));
}

/** Models at the same deployment share it. One with several has a throttle of its own: a line is only rejected by all of them. */
function placeOf({ id, deployments }: ModelSettings): string {
  const [first, ...others] = deployments;
  return first === undefined || others.length > 0 ? id : `${first.provider}/${first.upstreamModel}`;
}

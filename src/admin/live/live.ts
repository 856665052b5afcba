import type { Clock } from "../../base/clock.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import { totalInput } from "../../base/usage/usage.ts";
import { Gates } from "../../limits/concurrency.ts";
import { EventLoopLag } from "../../observe/event-loop-lag.ts";
import type { ExchangeFacts } from "../../observe/exchange.ts";
import { countsInReports, Metrics } from "../../observe/metrics.ts";
import { iso } from "../moments.ts";
import type { TailView } from "../requests/schema.ts";

const remembered = 50;
/** Records are written before a request's total duration is known, so the durations of the last requests are kept here. */
const maxTimed = 1_000;

type Listener = (line: TailView) => void;
/** The label of a key, by its id. */
type LabelOf = (keyId: string) => string | null;

/** Publishes every exchange that has ended, and replays the last few to a new listener. */
export class ExchangeFeed {
  readonly #recent: ExchangeFacts[] = [];
  /** Two rings rather than a map: dropping the oldest entry of a map costs every request 3 µs. */
  readonly #timedIds: string[] = [];
  readonly #durationsMs: number[] = [];
  #nextTimed = 0;
  readonly #listeners = new Map<Listener, () => void>();
  #next = 0;
  /** Set once the keys are loaded, which is after the first exchanges are observed. */
  labelOf: LabelOf = () => null;
  /** Called with the id of every exchange that this gateway shows, while there are viewers. */
  onShown: ((exchangeId: string) => void) | null = null;

  readonly observe = (facts: ExchangeFacts): void => {
    this.#recent[this.#next] = facts;
    this.#next = (this.#next + 1) % remembered;
    this.#time(facts);
    if (this.#listeners.size === 0) return;
    this.onShown?.(facts.requestId);
    this.show(tailView(facts, this.labelOf));
  };

  /** The total duration of a request, if it is one of the last. */
  durationMs(id: string): number | null {
    return this.#durationsMs[this.#timedIds.lastIndexOf(id)] ?? null;
  }

  #time({ requestId, totalMs }: ExchangeFacts): void {
    this.#timedIds[this.#nextTimed] = requestId;
    this.#durationsMs[this.#nextTimed] = totalMs;
    this.#nextTimed = (this.#nextTimed + 1) % maxTimed;
  }

  get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  show(line: TailView): void {
    for (const listener of this.#listeners.keys()) listener(line);
  }

  /**
   * Adds a listener and returns the last lines, oldest first. `onClose` is called if the feed ends before the listener
   * leaves.
   */
  join(listener: Listener, onClose: () => void): readonly TailView[] {
    this.#listeners.set(listener, onClose);
    const inOrder = [...this.#recent.slice(this.#next), ...this.#recent.slice(0, this.#next)];
    return inOrder.map((facts) => tailView(facts, this.labelOf));
  }

  leave(listener: Listener): void {
    this.#listeners.delete(listener);
  }

  /** A shutdown must not wait for clients that only watch. */
  close(): void {
    for (const onClose of this.#listeners.values()) onClose();
    this.#listeners.clear();
  }
}

function tailView(facts: ExchangeFacts, labelOf: LabelOf): TailView {
  const inTokens = facts.mode === "token_budget";
  return {
    id: facts.requestId,
    at: iso(facts.atMs),
    key_prefix: facts.keyPrefix,
    key_label: facts.keyId === null ? null : labelOf(facts.keyId),
    route: facts.route,
    model: facts.model,
    provider: facts.provider,
    stream: facts.stream,
    status: facts.status,
    error_code: facts.errorCode,
    outcome: facts.outcome,
    kept: countsInReports(facts),
    input_tokens: facts.usage === null ? 0 : totalInput(facts.usage),
    output_tokens: facts.usage?.outputTokens ?? 0,
    charged: inTokens ? facts.charged : creditsFromNano(facts.charged),
    unit: inTokens ? "tokens" : "credits",
    first_byte_ms: facts.firstByteMs,
    total_ms: facts.totalMs,
    attempts: facts.attempts,
  };
}

/** Maximum live tails per viewer. Each receives every finished exchange. */
const maxTails = 10;

/** Observes exchanges for metrics and the live tail. `observe` is called once at the end of each. */
export class Live {
  readonly metrics = new Metrics();
  readonly feed = new ExchangeFeed();
  readonly tails = new Gates({ limit: maxTails, queueLimit: 0, waitMs: 0 });
  readonly lag = new EventLoopLag();
  readonly #clock: Clock;
  readonly #startedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  get uptimeMs(): number {
    return this.#clock.monotonicMs() - this.#startedMs;
  }

  readonly observe = (facts: ExchangeFacts): void => {
    this.metrics.observe(facts);
    this.feed.observe(facts);
  };

  close(): void {
    this.lag.stop();
    this.feed.close();
  }
}

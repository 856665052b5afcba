/** What the load process is asked to do, and what it answers. */

export interface LoadTarget {
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The body is a frame of a WebSocket. */
  readonly isSocket?: boolean;
  /** Instead of the header: each connection has its own, in turn. */
  readonly keys?: readonly string[];
  /** The process whose CPU time is read at both ends of the window; null for none. */
  readonly pid: number | null;
}

export interface LoadJob {
  readonly target: LoadTarget;
  readonly concurrency: number;
  /** `window`: ask again and again for a time. `once`: so many requests per connection, until all have ended. */
  readonly mode: "window" | "once";
  /** With `once`. */
  readonly requestsPerConnection?: number;
  readonly warmupMs: number;
  readonly windowMs: number;
  /** Content events that each answer must have; 0 for JSON. */
  readonly eventsPerResponse: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly events: number;
  readonly failures: number;
  readonly firstFailure: string | null;
  readonly seconds: number;
  readonly cpuMicros: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** To the first content event; 0 for JSON. */
  readonly firstEventP50Micros: number;
  /** Between two parts of one answer, from its first content event to its end. */
  readonly gapP99Ms: number;
  readonly longestGapMs: number;
}

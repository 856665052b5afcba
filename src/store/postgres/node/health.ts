import type { StoreProblem } from "../../health.ts";
import { sqlStateOf } from "../errors.ts";

type Source = "money" | "apart" | "claims" | "beat";

/** A shorter failure makes requests wait, but does not make the node unready. */
const timeoutMs = 1_000;

const joining: StoreProblem = {
  reason: "Another node took over this one, which now rejoins.",
  advice: "It recovers by itself. If this happens again, check this machine and its network for long pauses.",
};

const leaving: StoreProblem = {
  reason: "This node is shutting down.",
  advice: "The gateway is shutting down.",
};

/** Whether new requests can be accepted, judged by the database's latest replies. */
export class NodeHealth {
  readonly #maxSilentMs: number;
  /** Each with its newest error: the break of a connection comes first, and then why no other is opened. */
  readonly #failing = new Map<Source, { readonly sinceMs: number; readonly error: unknown }>();
  /** How long the database has been silent, counting only time in which this process could have received a reply. */
  #silentMs = 0;
  state: "joined" | "joining" | "leaving" = "joining";

  /** After this much silence the database counts as unavailable. */
  constructor(maxSilentMs: number) {
    this.#maxSilentMs = maxSilentMs;
  }

  /**
   * A heartbeat is due, `everyMs` after the previous one. It adds only that much silence: after a pause of this
   * process the database was not silent.
   */
  beatDue(everyMs: number): void {
    this.#silentMs += everyMs;
  }

  attempted(source: Source, failure: unknown | null): void {
    if (failure === null) this.#failing.delete(source);
    else
      this.#failing.set(source, {
        sinceMs: this.#failing.get(source)?.sinceMs ?? performance.now(),
        error: failure,
      });
  }

  /** A heartbeat succeeded. A failing lane keeps retrying until it succeeds itself. */
  beaten(): void {
    this.#silentMs = 0;
    this.#failing.delete("beat");
  }

  joined(): void {
    this.state = "joined";
    this.#failing.clear();
    this.beaten();
  }

  get problem(): StoreProblem | null {
    if (this.state === "leaving") return leaving;
    if (this.state === "joining") return joining;
    const nowMs = performance.now();
    const failing = [...this.#failing.values()].filter(({ sinceMs }) => nowMs - sinceMs > timeoutMs);
    // A lane whose connection broke says less than one that the database has answered.
    const [lasting] = [...failing.filter(({ error }) => namedProblem(error) !== null), ...failing];
    if (lasting !== undefined) return problemOf(lasting.error);
    return this.#silentMs > this.#maxSilentMs ? problemOf(null) : null;
  }
}

function problemOf(error: unknown): StoreProblem {
  return (
    namedProblem(error) ?? {
      reason: "The database cannot be reached.",
      advice:
        `Charges wait, and new requests are rejected, until the database responds. ` +
        `${error instanceof Error ? error.message : "It does not respond."}`,
    }
  );
}

/** Null unless the database's own reply says what is wrong. */
function namedProblem(error: unknown): StoreProblem | null {
  const state = sqlStateOf(error);
  if (state === "53100") {
    return {
      reason: "The database's disk is full.",
      advice:
        "Charges wait, and new requests are rejected. Free some space; the gateway then recovers by itself.",
    };
  }
  if (state === "25006") {
    return {
      reason: "The database is read-only.",
      advice:
        "It may be a standby that was not promoted. Charges wait, and new requests are rejected, until it is writable.",
    };
  }
  if (state.startsWith("28")) {
    return {
      reason: "The database rejected this gateway: authentication failed.",
      advice:
        `Correct \`store.password\`, or the password of the role. A password from \`file:\` is read again on the next ` +
        `connection, any other with a restart. Charges wait until then. ${error instanceof Error ? error.message : ""}`,
    };
  }
  return null;
}

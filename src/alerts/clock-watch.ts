import type { Clock } from "../base/clock.ts";
import { msPerHour, msPerMinute } from "../base/clock.ts";
import { type Alert, unsetAlertFields } from "./alert.ts";

const notableMoveMs = 5 * msPerMinute;
/** Clocks drift a little between checks, and are slowly corrected. */
const driftMs = 1_000;
/** After this time, a clock that was changed counts as correct. */
const rememberedForMs = msPerHour;
/** Periods and days follow the database's clock. A node that differs by more raises an alert. */
const notableDifferenceMs = msPerMinute;

/**
 * Compares the wall clock with the monotonic clock while the process runs, because setting the wall clock by minutes
 * moves periods and days. The time that the gateway was off does not matter.
 */
export class ClockWatch {
  readonly #clock: Clock;
  #usualMs: number;
  #movedSinceMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#usualMs = this.#differenceMs();
  }

  /** Call this every few seconds. */
  check(node: string): Alert | null {
    const movedMs = this.#differenceMs() - this.#usualMs;
    if (Math.abs(movedMs) <= notableMoveMs) {
      this.#movedSinceMs = null;
      if (Math.abs(movedMs) <= driftMs) this.#usualMs += movedMs;
      return null;
    }
    const nowMs = this.#clock.monotonicMs();
    this.#movedSinceMs ??= nowMs;
    if (nowMs - this.#movedSinceMs <= rememberedForMs) return clockMoved(node, movedMs);
    this.#movedSinceMs = null;
    this.#usualMs += movedMs;
    return null;
  }

  #differenceMs(): number {
    return this.#clock.wallMs() - this.#clock.monotonicMs();
  }
}

function clockMoved(node: string, movedMs: number): Alert {
  const seconds = Math.round(movedMs / 1_000);
  const way = seconds > 0 ? "forward" : "back";
  return {
    ...unsetAlertFields,
    kind: "clock_moved",
    subject: { type: "node", id: node, label: node },
    text: `The clock of gateway ${node} was set ${way} by ${Math.abs(seconds)} s while it ran. Check its time service.`,
    details: { moved_seconds: seconds },
  };
}

/** Null while the clocks agree. */
export function clockDiffers(node: string, databaseAheadMs: number): Alert | null {
  if (Math.abs(databaseAheadMs) <= notableDifferenceMs) return null;
  const seconds = Math.round(databaseAheadMs / 1_000);
  const way = seconds > 0 ? "behind" : "ahead of";
  return {
    ...unsetAlertFields,
    kind: "clock_differs",
    subject: { type: "node", id: node, label: node },
    text: `The clock of gateway ${node} is ${Math.abs(seconds)} s ${way} the database's, which defines periods. Check its time service.`,
    details: { database_ahead_seconds: seconds },
  };
}

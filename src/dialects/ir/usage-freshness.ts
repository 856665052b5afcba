import type { ReportedUsage } from "../../base/usage/usage.ts";
import { type ReportedSoFar, runningTotal } from "../usage/usage-figures.ts";
import type { IrEvent } from "./ir.ts";

/**
 * Tracks whether the last reported usage can include all output: it cannot if content arrived in a later frame. Its figures are
 * running totals.
 */
export class UsageFreshness implements ReportedSoFar {
  partialUsage: ReportedUsage | null = null;
  reportedOutput = 0;
  #isFromThisFrame = false;
  #isOutdated = false;

  nextFrame(): void {
    this.#isFromThisFrame = false;
  }

  /** Returns the event; a usage becomes the running total. */
  observe(event: IrEvent): IrEvent {
    if (event.type === "delta" && !this.#isFromThisFrame) this.#isOutdated = true;
    if (event.type === "start") this.partialUsage = event.usage;
    if (event.type !== "usage") return event;
    this.#isFromThisFrame = true;
    this.#isOutdated = false;
    const usage = runningTotal(this, event.usage);
    this.partialUsage = usage;
    this.reportedOutput = usage.outputTokens;
    return usage === event.usage ? event : { ...event, usage };
  }

  apply(usage: ReportedUsage | null): ReportedUsage | null {
    if (usage === null || !this.#isOutdated) return usage;
    const { isUpToDate: _, ...outdated } = usage;
    return { ...outdated, isOutputDoubtful: true };
  }
}

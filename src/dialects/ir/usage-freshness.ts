import type { ReportedUsage } from "../../base/usage.ts";
import type { IrEvent } from "./ir.ts";

/** Tracks whether the last reported usage can include all output: it cannot if content arrived in a later frame. */
export class UsageFreshness {
  #isFromThisFrame = false;
  #isOutdated = false;

  nextFrame(): void {
    this.#isFromThisFrame = false;
  }

  observe(event: IrEvent): void {
    if (event.type === "delta") this.observeContent();
    if (event.type !== "usage") return;
    this.#isFromThisFrame = true;
    this.#isOutdated = false;
  }

  observeContent(): void {
    if (!this.#isFromThisFrame) this.#isOutdated = true;
  }

  apply(usage: ReportedUsage | null): ReportedUsage | null {
    if (usage === null || !this.#isOutdated) return usage;
    const { isUpToDate: _, ...outdated } = usage;
    return { ...outdated, isOutputDoubtful: true };
  }
}

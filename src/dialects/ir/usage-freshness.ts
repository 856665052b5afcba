import type { ReportedUsage } from "../../base/usage.ts";
import type { IrEvent } from "./ir.ts";

/** Knows whether a provider's last figures can include all of its output: what came in a later frame, they cannot. */
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
    return usage !== null && this.#isOutdated ? { ...usage, isOutputDoubtful: true } : usage;
  }
}

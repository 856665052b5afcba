import type { ReportedUsage } from "../../base/usage.ts";
import type { IrEvent } from "./ir.ts";

/** Knows whether a provider's last figures can include all of its output: what came in a later frame, they cannot. */
export class FiguresAge {
  #areOfThisFrame = false;
  #areOutdated = false;

  nextFrame(): void {
    this.#areOfThisFrame = false;
  }

  see(event: IrEvent): void {
    if (event.type === "delta") this.sawContent();
    if (event.type !== "usage") return;
    this.#areOfThisFrame = true;
    this.#areOutdated = false;
  }

  sawContent(): void {
    if (!this.#areOfThisFrame) this.#areOutdated = true;
  }

  judge(usage: ReportedUsage | null): ReportedUsage | null {
    return usage !== null && this.#areOutdated ? { ...usage, isOutputDoubtful: true } : usage;
  }
}

import type { ReportedUsage } from "../../base/usage.ts";
import type { IrEvent } from "./ir.ts";

/**
 * The event for figures that a stream reports. They include all output if they come with the finish or after it, or if every
 * piece comes with the usage up to it; such figures are charged as they are, however the stream breaks off.
 */
export function usageEvent(usage: ReportedUsage, includesAll: boolean): IrEvent {
  return { type: "usage", usage: includesAll ? { ...usage, isUpToDate: true } : usage };
}

import type { HostedToolName, ToolCalls } from "../../base/usage/hosted-tools.ts";

/** Calls per hosted tool that a hold covers if the request sets no limit. */
const assumedCalls = 5;

/** Calls that a hold covers at most. A request can allow more, and is charged for them. */
const maxCallsHeld = 1000;

export function heldCalls(maxUses: number | null): number {
  return Math.min(maxUses ?? assumedCalls, maxCallsHeld);
}

/** The calls of hosted tools that a request is held for. */
export class HeldCalls {
  readonly most: { [Name in HostedToolName]?: number } = {};
  /** Calls that are made in any case. */
  least: ToolCalls = {};

  /** A tool without a name has no price. */
  add(name: HostedToolName | null, maxUses: number | null): void {
    if (name === null) return;
    this.most[name] = Math.min((this.most[name] ?? 0) + heldCalls(maxUses), maxCallsHeld);
  }
}

import type { HostedToolName, ToolCalls } from "../../base/usage/hosted-tools.ts";

/** How many calls of a hosted tool are held for, where the request does not bound them. */
const assumedCalls = 5;

/** A hold covers at most this many. A request may allow more, and is charged for them. */
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

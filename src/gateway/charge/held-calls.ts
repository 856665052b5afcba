/** How many calls of a hosted tool are held for, where the request does not bound them. */
const assumedCalls = 5;

/** A request may allow more, and is charged for more; its hold covers so many. */
export const mostCallsHeld = 1000;

export function heldCalls(maxUses: number | null): number {
  return Math.min(maxUses ?? assumedCalls, mostCallsHeld);
}

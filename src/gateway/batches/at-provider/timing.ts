/** How long sending can take, in intervals of `provider_poll`, and when others look what became of it. */
export const [sendTimeouts, sendLeases] = [6, 8] as const;

/** When to look again, after so many looks in vain. */
export function pollAfterMs(pollMs: number, looks: number): number {
  return Math.ceil(pollMs * Math.min(6, 1.5 ** looks));
}

import type { Candidate } from "./deployment-state.ts";

/** A concurrency slot at a deployment is one at its own gate and one at its provider's. Takes both or none. */
export function tryTakeSlot({ gate, state: { providerState } }: Candidate): boolean {
  if (gate !== null && !gate.tryEnter()) return false;
  if (providerState.gate === null || providerState.gate.tryEnter()) return true;
  gate?.leave();
  return false;
}

/** Takes a slot, queueing at each gate if necessary. False if none came free in time, or the signal fired. */
export async function takeSlot(
  { gate, state: { providerState } }: Candidate,
  signal: AbortSignal,
): Promise<boolean> {
  if (gate !== null && !(await gate.enter(signal))) return false;
  if (providerState.gate === null || (await providerState.gate.enter(signal))) return true;
  gate?.leave();
  return false;
}

export function releaseSlot({ gate, state: { providerState } }: Candidate): void {
  gate?.leave();
  providerState.gate?.leave();
}

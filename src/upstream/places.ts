import type { Standing } from "./directory.ts";

/** A place at a deployment is one at its own gate and one at its provider's. Both are taken, or none. */
export function tryTakePlace({ gate, account }: Standing): boolean {
  if (gate !== null && !gate.tryEnter()) return false;
  if (account.gate === null || account.gate.tryEnter()) return true;
  gate?.leave();
  return false;
}

/** The same, after a wait in the queue of each if need be. False: no place in time, or the signal has fired. */
export async function takePlace({ gate, account }: Standing, signal: AbortSignal): Promise<boolean> {
  if (gate !== null && !(await gate.enter(signal))) return false;
  if (account.gate === null || (await account.gate.enter(signal))) return true;
  gate?.leave();
  return false;
}

export function givePlaceBack({ gate, account }: Standing): void {
  gate?.leave();
  account.gate?.leave();
}

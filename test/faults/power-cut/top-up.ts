import type { OperatorEntry } from "../../../src/store/store.ts";

/** The gateway and the commands use the same ones, so that each finds what the other has just written. */
export function sharedReference(): string {
  return `shared-${Math.floor(Date.now() / 4)}`;
}

export function topUp(keyId: string, reference: string): OperatorEntry {
  return { keyId, amountNano: 50, reference, note: null, atMs: 0 };
}

import type { NumberedKey } from "./tables/key-table.ts";

/** How the tables know a key and its account; what is written per request carries these in place of ids. */
export interface KeyNumber {
  readonly keyNo: number;
  readonly accountNo: number;
}

/** The numbers of all keys that were read so far: those of the first snapshot and of every change since. */
export class KeyNumbers {
  readonly #numbers = new Map<string, KeyNumber>();

  learn(keys: readonly NumberedKey[]): void {
    for (const { no, accountNo, key } of keys) this.#numbers.set(key.id, { keyNo: no, accountNo });
  }

  get(keyId: string): KeyNumber | null {
    return this.#numbers.get(keyId) ?? null;
  }
}

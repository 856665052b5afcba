import { assert } from "../base/assert.ts";
import type { BodyBudget, BodyReservation } from "../limits/body-budget.ts";
import type { KeyRecord } from "../store/store.ts";
import { largeBodyBytes } from "./large/is-large.ts";

/** Much less than a provider's answer may take. */
const longestWaitMs = 10_000;

/** Who reads something for its client. */
export interface Reader {
  readonly key: KeyRecord | null;
  readonly signal: AbortSignal;
  memory: BodyReservation | null;
}

/** Waits a while for the memory for something large that is to be read, and rejects if the reader has ended meanwhile. */
export async function awaitMemory(reader: Reader, budget: BodyBudget, bytes: number): Promise<void> {
  if (bytes < largeBodyBytes) return;
  const { signal } = reader;
  reader.memory ??= reserved(reader, budget);
  await reader.memory.growWhenFree(bytes, longestWaitMs);
  signal.throwIfAborted();
}

function reserved({ key, signal }: Reader, budget: BodyBudget): BodyReservation {
  assert(key !== null, "only a key is answered by a provider");
  const reservation = budget.reserve(key.id);
  signal.addEventListener("abort", () => reservation.release(), { once: true });
  return reservation;
}

/** A failed assertion is a bug in Sluice, never the caller's fault, and stops the work it guards. */
class AssertionError extends Error {
  override readonly name = "AssertionError";
}

/** `about` is appended to the message on failure, so that successful calls need not build a message. */
export function assert(condition: unknown, message: string, about?: string | number): asserts condition {
  if (!condition) throw new AssertionError(about === undefined ? message : `${message}: ${about}`);
}

/** Amounts and counts are whole numbers that a double holds exactly; anything else would lose money. */
export function assertAmount(value: number, name: string): void {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new AssertionError(`${name} must be a whole number of at least 0, got ${value}`);
  }
}

/** Marks the branch of a switch that no value can reach; adding a case without handling it fails to compile. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`);
}

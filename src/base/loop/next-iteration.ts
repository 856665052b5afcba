/** Resolves once everything that is ready in this turn of the event loop has run. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

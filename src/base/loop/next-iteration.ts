/** Resolves once everything that is ready in this iteration of the event loop has run. */
export function nextLoopIteration(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

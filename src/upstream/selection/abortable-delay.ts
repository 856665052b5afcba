/** Resolves to true after the delay, to false as soon as the signal fires. Leaves neither timer nor listener behind. */
export function abortableDelay(durationMs: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (isComplete: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      resolve(isComplete);
    };
    const abort = () => end(false);
    const timer = setTimeout(() => end(true), durationMs);
    signal.addEventListener("abort", abort);
  });
}

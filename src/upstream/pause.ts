/** Waits so long; false if the signal fires first. It leaves neither a timer nor a listener behind. */
export function pause(durationMs: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (isOver: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abandon);
      resolve(isOver);
    };
    const abandon = () => end(false);
    const timer = setTimeout(() => end(true), durationMs);
    signal.addEventListener("abort", abandon);
  });
}

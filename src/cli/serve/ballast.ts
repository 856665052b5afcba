/** Twice the live heap of a gateway under load. */
const ballastBytes = 32 * 1024 * 1024;

let ballast: ArrayBuffer | null = null;

/**
 * Makes garbage collection less frequent. A collection starts when as much has been allocated as is live, and a
 * gateway's live heap is only about 14 MB: at ten thousand requests per second that is every second or so, marking
 * all of it each time. Memory that is never written counts as live, but the operating system never backs it with
 * pages, so it costs address space only. The indirect cost is the garbage that gathers meanwhile, about as much
 * again.
 */
export function takeBallast(): ArrayBuffer {
  ballast ??= new ArrayBuffer(ballastBytes);
  return ballast;
}

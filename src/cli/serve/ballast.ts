/** Twice what a gateway keeps alive under load. */
const ballastBytes = 32 * 1024 * 1024;

let ballast: ArrayBuffer | null = null;

/**
 * Lets the garbage collector come less often. It comes when as much has been allocated as is alive, and of a gateway
 * only some 14 MB are: every second or so at ten thousand requests, marking all of them each time. Memory that is
 * never written to counts as alive and is never given to the process by the operating system, so it costs
 * address space only; what it costs indirectly is the garbage that may gather meanwhile, about as much again.
 */
export function takeBallast(): ArrayBuffer {
  ballast ??= new ArrayBuffer(ballastBytes);
  return ballast;
}

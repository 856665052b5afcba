import { whenBatchesAreHandled } from "./pacer.ts";

/**
 * Extra time for responses that pass through another thread (`fetch`, a worker), which may wake later than this one. A
 * query that had to wait for its connection is also sent only now.
 */
const catchUpMs = 100;

/**
 * Calls back once everything that has arrived by now has been read and handled. Call this before giving up on a
 * timeout: when a suspended process resumes, or was busy in a timer, the event loop runs due timers before it reads the
 * sockets, so a response that arrived in time would be lost.
 */
export function afterArrivals(callback: () => void): void {
  // Bun runs immediates before it polls the sockets, so the second one has a whole poll before it.
  const afterPoll = () => setImmediate(() => setImmediate(() => whenBatchesAreHandled(callback)));
  setTimeout(afterPoll, catchUpMs);
}

/**
 * Calls `giveUp` when the time is over, unless something that arrived by then has cancelled it. Returns a function that
 * cancels it.
 */
export function startDeadline(limitMs: number, giveUp: () => void): () => void {
  let isCancelled = false;
  const judge = () => {
    if (!isCancelled) giveUp();
  };
  const timer = setTimeout(() => afterArrivals(judge), limitMs);
  return () => {
    isCancelled = true;
    clearTimeout(timer);
  };
}

/** Like `AbortSignal.timeout`, but what has arrived is read first. Does not keep the process alive. */
export function abortAfter(limitMs: number): AbortSignal {
  const controller = new AbortController();
  const giveUp = () => controller.abort(new DOMException("The operation timed out.", "TimeoutError"));
  setTimeout(() => afterArrivals(giveUp), limitMs).unref();
  return controller.signal;
}

import { whenBatchesAreHandled } from "./batch.ts";

/**
 * What comes through another thread (`fetch`, a worker) is passed on by it, and that thread may wake later than this one.
 * Also, a query that had to wait for its connection is only sent now.
 */
const catchUpMs = 100;

/**
 * Calls back once everything that has arrived by now has been read and handled. Call this before giving up because of
 * a timeout: when a suspended process resumes, or was busy in a timer, the event loop runs
 * the timers that have come due before it reads the sockets, and an answer that came in time would be lost.
 */
export function afterArrivals(callback: () => void): void {
  // Bun runs immediates before it polls the sockets, so the second one has a whole poll before it.
  const afterPoll = () => setImmediate(() => setImmediate(() => whenBatchesAreHandled(callback)));
  setTimeout(afterPoll, catchUpMs);
}

/** Calls `giveUp` when the time is over and nothing that has arrived by then has cancelled it. Returns what cancels it. */
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

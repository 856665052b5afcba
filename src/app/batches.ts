import type { LineServing } from "../gateway/batches/run-line.ts";
import { BatchScheduler } from "../gateway/batches/scheduler.ts";
import type { Gateway } from "../gateway/exchange/gateway.ts";
import { routes } from "../gateway/operations.ts";
import { answer } from "../http/respond.ts";
import type { Log } from "../observe/log.ts";

/** Runs the lines of batches, also of those that were created before this start. */
export function startBatches(gateway: Gateway, log: Log): () => Promise<void> {
  const serving: LineServing = {
    gateway,
    routeAt: (path) => routes.find((route) => route.path === path && route.method === "POST") ?? null,
    answer: (exchange, { run }) => answer(gateway, exchange, run),
  };
  const scheduler = new BatchScheduler(serving, (err) =>
    log.warn({ err }, "batches could not be maintained"),
  );
  gateway.batches.attach(() => scheduler.wake());
  scheduler.wake();
  gateway.batches
    .deleteAbandoned()
    .catch((err) => log.warn({ err }, "unfinished creates could not be deleted"));
  return () => scheduler.stop();
}

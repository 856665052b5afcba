import { threadSource } from "../../src/base/threads/start-thread.ts";

/**
 * Loaded before all tests: a gateway in the test's own process gets the threads that an earlier one has given back. Each of these loads
 * the tokenizer, all dialects (a third of a second or more) or what reports need (every gateway starts it), and answers every message
 * with one. The thread for reports has closed its file before it is given back.
 */
const shared = ["catalog/tokens/worker.ts", "gateway/worker.ts", "store/sqlite/reports/thread.ts"].map(
  threadSource,
);
const idle = new Map<string, Worker[]>();

globalThis.Worker = new Proxy(Worker, {
  construct(Thread, [source, options]: ConstructorParameters<typeof Worker>): Worker {
    const path = String(source);
    if (!shared.includes(path)) return new Thread(source, options);
    return idle.get(path)?.pop() ?? returnable(new Thread(source, options), path);
  },
});

/** Its owner ends it as any other. It really ends only while it is at work, or if it has failed. */
function returnable(thread: Worker, path: string): Worker {
  const post = thread.postMessage.bind(thread);
  const end = thread.terminate.bind(thread);
  let unanswered = 0;
  let hasFailed = false;
  thread.addEventListener("message", () => {
    unanswered -= 1;
  });
  thread.addEventListener("error", () => {
    hasFailed = true;
  });
  const own = {
    postMessage: (message: unknown) => {
      unanswered += 1;
      post(message);
    },
    terminate: () => {
      thread.onmessage = null;
      thread.onerror = null;
      if (unanswered > 0 || hasFailed) return end();
      // A test may have put others in their place.
      idle.set(path, [...(idle.get(path) ?? []), Object.assign(thread, own)]);
    },
  };
  return Object.assign(thread, own);
}

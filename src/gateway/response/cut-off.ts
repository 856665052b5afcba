import type { ClientCall } from "../exchange/client-call.ts";

/** Resolves when the client's connection is gone. Bytes that end properly would be taken for the whole. */
export function cutOff(call: ClientCall): Promise<void> {
  const { signal } = call.request;
  const { promise, resolve } = Promise.withResolvers<void>();
  call.disconnect();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

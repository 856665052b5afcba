import type { ClientCall } from "../exchange/client-call.ts";

/**
 * Closes the client's connection, and resolves when it is gone. Otherwise the client would take the bytes for a
 * complete response.
 */
export function cutOff(call: ClientCall): Promise<void> {
  const { signal } = call.request;
  const { promise, resolve } = Promise.withResolvers<void>();
  call.disconnect();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

import type { Provider } from "../providers/provider.ts";
import type { Prepared } from "./upstream.ts";

/** A reset this soon is most likely a pooled connection that the provider had closed: nothing was processed. */
const staleConnectionMs = 1000;

/** Sends one request; once more at once when a stale connection is what stopped it. */
export async function send(
  provider: Provider,
  prepared: Prepared,
  apiKey: string | null,
  signal: AbortSignal,
): Promise<Response> {
  const url = provider.url(prepared.operation);
  const init = {
    method: "POST",
    headers: provider.headers(prepared.operation, apiKey, prepared.headers),
    body: prepared.body,
    signal,
    timeout: false,
    decompress: false,
    redirect: "manual",
  } as const;
  const startedMs = performance.now();
  try {
    return await provider.send(url, init);
  } catch (cause) {
    const soon = performance.now() - startedMs < staleConnectionMs;
    if (!isReset(cause) || !soon || signal.aborted) throw cause;
    return provider.send(url, init);
  }
}

export function isReset(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "ECONNRESET";
}

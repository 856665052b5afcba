import type { ClientCall, Route, StreamSource } from "../exchange/client-call.ts";
import type { Origin } from "../exchange/origin.ts";

/** The data for running a request again. It has no credentials: its key is known. */
export interface StoredCall {
  readonly path: string;
  readonly address: string;
  readonly headers: readonly (readonly [string, string])[];
}

/** Headers that mean something to the gateway or a provider. Others may be secret. */
const keptHeaders =
  /^(?:(?:openai|anthropic|x-openai|x-codex|x-sluice)-.*|traceparent|tracestate|x-request-id|session-id|thread-id|session_id|conversation_id|x-session-id|x-claude-code-(?:session|agent|parent-agent)-id)$/;

/** `others`: headers that the operator has named. */
export function storedCall({ request, route, address }: ClientCall, others: readonly string[]): StoredCall {
  const isKept = (name: string) => keptHeaders.test(name) || others.includes(name);
  return { path: route.path, address, headers: [...request.headers].filter(([name]) => isKept(name)) };
}

/** The JSON of the call, a line break, and the body that the client sent. */
export function callPieces(call: StoredCall, body: Uint8Array): readonly Uint8Array[] {
  return [Buffer.from(`${JSON.stringify(call)}\n`), body];
}

export function readCall(bytes: Uint8Array): { readonly call: StoredCall; readonly body: Uint8Array } {
  const end = bytes.indexOf(lineBreak);
  const call: StoredCall = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString());
  return { call, body: bytes.subarray(end + 1) };
}

const lineBreak = 10;

interface DetachedCallParts {
  readonly route: Route;
  readonly call: StoredCall;
  /** Absent if it was read already. */
  readonly body?: Uint8Array;
  readonly keyId: string;
  readonly origin: Origin;
}

/** A request without a connection. Only `cancel` ends it early. */
export class DetachedCall implements ClientCall {
  readonly request: ClientCall["request"];
  readonly route: Route;
  readonly address: string;
  readonly isForwarded = false;
  readonly keyId: string;
  readonly origin: Origin;
  readonly body?: Uint8Array;
  readonly #cancelling = new AbortController();
  #source: StreamSource | null = null;

  constructor({ route, call, body, keyId, origin }: DetachedCallParts) {
    this.route = route;
    this.address = call.address;
    this.keyId = keyId;
    this.origin = origin;
    if (body !== undefined) this.body = body;
    this.request = {
      url: call.path,
      headers: new Headers(call.headers.map(([name, value]): [string, string] => [name, value])),
      signal: this.#cancelling.signal,
      body: null,
      bytes: async () => new Uint8Array(body ?? []),
    };
  }

  readonly takeStream = (source: StreamSource): void => {
    this.#source = source;
  };

  /** The source that writes the response; null if it arrives as a whole. */
  get source(): StreamSource | null {
    return this.#source;
  }

  get isCancelled(): boolean {
    return this.#cancelling.signal.aborted;
  }

  cancel(): void {
    this.#cancelling.abort();
    this.#source?.cancel();
  }

  keepWaiting(): void {}

  disconnect(): void {}
}

import type { ClientCall, LineOfBatch, Route, StreamSource } from "../exchange/client-call.ts";
import type { BatchRequest } from "./batch-object.ts";

interface LineCallParts {
  readonly route: Route;
  readonly keyId: string;
  readonly line: LineOfBatch;
  readonly request: Pick<BatchRequest, "headers" | "address">;
  readonly body: Uint8Array;
}

/** A line of a batch as a request. Nothing but the gateway's own stop ends it early. */
export class LineCall implements ClientCall {
  readonly request: ClientCall["request"];
  readonly route: Route;
  readonly address: string;
  readonly isForwarded = false;
  readonly keyId: string;
  readonly line: LineOfBatch;
  readonly body: Uint8Array;
  #source: StreamSource | null = null;

  constructor({ route, keyId, line, request, body }: LineCallParts) {
    this.route = route;
    this.address = request.address;
    this.keyId = keyId;
    this.line = line;
    this.body = body;
    const headers = new Headers(request.headers.map(([name, value]): [string, string] => [name, value]));
    headers.set("content-type", "application/json");
    headers.set("idempotency-key", String(line.no));
    this.request = {
      url: route.path,
      headers,
      signal: new AbortController().signal,
      body: null,
      bytes: async () => body,
    };
  }

  readonly takeStream = (source: StreamSource): void => {
    this.#source = source;
  };

  /** The response is not read: it is stored. */
  release(): void {
    this.#source?.cancel();
  }

  keepWaiting(): void {}

  disconnect(): void {}
}

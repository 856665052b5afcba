/** A request and its response, independent of how they are transported. */

/** The head of a response. Implemented by `AnswerHead`, and easily created from a `Response`. */
export interface Head {
  readonly status: number;
  /** `name` is lower case. Returns the first value of a repeated header. */
  get(name: string): string | null;
}

/**
 * Receives a response piece by piece. The calls are, in this order: `connected` at most once, `answered`, `received`
 * for every piece, and exactly one of `ended` and `failed`. `failed` can come at any time, and there are no calls after
 * a cancel. The receiver owns the bytes.
 */
export interface Receiver {
  /** A request that had to wait for a connection has got one. */
  connected(): void;
  answered(head: Head): void;
  received(bytes: Uint8Array): void;
  ended(): void;
  failed(cause: unknown): void;
}

/** One request and its response, in flight. */
export interface Transfer {
  /** False while a connection is being established, and if that failed. Nothing was sent then. */
  readonly isConnected: boolean;
  /** The whole request was sent: the server can respond to it, and may charge for it. */
  readonly isSent: boolean;
  /** Stops reading. A few pieces that were read already may still arrive. */
  pause(): void;
  resume(): void;
  /** The receiver gets no more calls. Safe at any time, and more than once. */
  cancel(): void;
}

/** A connection failure, with a code like the operating system's error codes. */
export class WireError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export function connectionLost(): WireError {
  return new WireError("ECONNRESET", "The connection was closed before the response was complete.");
}

/** The response violates HTTP. The server did respond, so it has done the work and may charge for it. */
export function isMalformed(cause: unknown): boolean {
  return cause instanceof WireError && cause.code === "EPROTO";
}

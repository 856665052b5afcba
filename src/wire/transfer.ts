/** What a request and its answer look like to those who neither know nor care how bytes travel. */

/** The head of an answer. A `Response`'s headers fit, and so does the text of a head that was read here. */
export interface Head {
  readonly status: number;
  /** By lower-case name; the first of several. */
  get(name: string): string | null;
}

/**
 * Where an answer goes, piece by piece: `connected` at most once, `answered`, then `received` as often as bytes
 * come, then exactly one of `ended` and `failed`, unless the transfer is cancelled first. Bytes belong to the
 * receiver.
 */
export interface Receiver {
  /** The request is on a connection that stands. Not told when that was so from the start. */
  connected(): void;
  answered(head: Head): void;
  received(bytes: Uint8Array): void;
  ended(): void;
  failed(cause: unknown): void;
}

/** One request on its way, and its answer on its way back. */
export interface Transfer {
  /** False while a connection is being made, and when none could be: then nothing was sent. */
  readonly isConnected: boolean;
  /** Asks for no more bytes for now; a few that are under way may still come. */
  pause(): void;
  resume(): void;
  /** The receiver hears nothing more. Safe at any time and more than once. */
  cancel(): void;
}

/** Something that went wrong on the wire, with a code as the operating system would give it. */
export class WireError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A server's close that was on its way when a request was written arrives this soon after it, or is another one. */
export const staleMs = 50;

/** The connection ended before the answer did. */
export function connectionLost(): WireError {
  return new WireError("ECONNRESET", "The connection was closed before the answer was complete.");
}

/** The server's answer broke HTTP's rules. It has answered, so it has done the work. */
export function isMalformed(cause: unknown): boolean {
  return cause instanceof WireError && cause.code === "EPROTO";
}

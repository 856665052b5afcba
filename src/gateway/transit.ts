import type { GatewayError } from "../base/errors.ts";
import type { Usage } from "../base/usage.ts";

/** What goes to the client: bytes that pass through, or text that was written here. */
export type Piece = Uint8Array | string;

/**
 * A provider's stream on its way to the client, passed through or translated; what relays it (relay.ts)
 * need not know which. The pieces that end the client's stream are never returned by `push` or `end`: the
 * charge is committed first, and then they are taken from `terminal`.
 */
export interface Transit {
  /** Takes what the provider sent, returns what may leave now. Throws a GatewayError when the stream fails. */
  push(chunk: Uint8Array): Piece;
  /** The provider's body is over. Throws a GatewayError unless that was a proper end. */
  end(): Piece;
  /** True once the provider's proper end has been read. */
  readonly ended: boolean;
  terminal(): Piece;
  /** The dialect's in-band failure, which never looks like a proper end. */
  failure(error: GatewayError): string;
  /** Shows life while the provider is silent. */
  heartbeat(): string;
  /** The provider's final figures, if it has told them. */
  readonly usage: Usage | null;
  /** Figures that hold even if the stream breaks off now. */
  readonly partialUsage: Usage | null;
  /** True once content has gone to the client. */
  readonly started: boolean;
  /** Text produced since the last call. */
  takeProduced(): string;
}

import type { GatewayError } from "../../base/errors.ts";
import type { ReportedExtras } from "../../base/extra-usage.ts";
import type { ReportedUsage } from "../../base/usage.ts";

/** What goes to the client: bytes that pass through, or text that was written here. */
export type Piece = Uint8Array | string;

/**
 * A provider's stream on its way to the client, passed through or translated; the pump (stream-pump.ts)
 * need not know which. The pieces that end the client's stream are never returned by `push` or `end`: the
 * charge is committed first, and then they are taken from `terminal`.
 */
export interface StreamRelayer {
  /** Takes what the provider sent, returns what may leave now; look at `brokenBy` afterwards. */
  push(chunk: Uint8Array): Piece;
  /** The provider's body is over; look at `brokenBy` afterwards. */
  end(): Piece;
  /**
   * Why the provider's stream has failed, once it has. It is told and not thrown, because what came before
   * the failure, in the same chunk even, belongs to the client and is on the bill.
   */
  readonly brokenBy: GatewayError | null;
  /** True once the provider's proper end has been read. */
  readonly ended: boolean;
  terminal(): Piece;
  /** The dialect's in-band failure, which never looks like a proper end. */
  failure(error: GatewayError): string;
  /** Shows life while the provider is silent. */
  heartbeat(): string;
  /** The provider's final figures, if it has reported them and its stream is over. */
  readonly usage: ReportedUsage | null;
  /** The latest figures, if the stream breaks off now: of the output there may be more than they say. */
  readonly partialUsage: ReportedUsage | null;
  /** Ids of the provider's own things that the client has been shown. */
  readonly given: readonly string[];
  /** What the provider has reported beside its usage. */
  readonly extras: ReportedExtras | null;
  /** True once content has gone to the client. */
  readonly started: boolean;
  /** Text produced since the last call. */
  takeProduced(): string;
  /** How much of that is waiting to be taken, as far as it has been read. */
  readonly producedChars: number;
}

import type { GatewayError } from "../../base/errors.ts";
import { noUsage, type Usage } from "../../base/usage/usage.ts";
import type { Piece } from "../exchange/client-call.ts";
import type { StreamRelayer } from "./stream-relayer.ts";

const nothing = new Uint8Array(0);

/** Forwards bytes that are not events, such as audio. The last byte waits for the charge, which does not depend on it. */
export class BytesRelayer implements StreamRelayer {
  readonly isRaw = true;
  readonly brokenBy: GatewayError | null = null;
  readonly isCollecting = false;
  readonly largeEvent = null;
  readonly partialUsage = null;
  readonly issued: readonly string[] = [];
  readonly extras = {};
  readonly producedChars = 0;
  readonly sealedChars = 0;
  ended = false;
  #last: Uint8Array = nothing;

  push(chunk: Uint8Array): Piece {
    if (chunk.length === 0) return nothing;
    const leaving = Buffer.concat([this.#last, chunk.subarray(0, -1)]);
    this.#last = Uint8Array.from(chunk.subarray(-1));
    return leaving;
  }

  end(): Piece {
    this.ended = true;
    return nothing;
  }

  terminal(): Piece {
    return this.#last;
  }

  /** Tokens are none of its units. */
  get usage(): Usage | null {
    return this.ended ? noUsage : null;
  }

  get started(): boolean {
    return this.#last.length > 0;
  }

  resume(): Piece {
    return nothing;
  }

  isComplete(): boolean {
    return false;
  }

  showUsage(): void {}

  failure(): string {
    return "";
  }

  heartbeat(): string {
    return "";
  }

  takeProduced(): string {
    return "";
  }

  hasEndedText(): boolean {
    return false;
  }
}

import { noUsage } from "../../base/usage/usage.ts";
import { StreamFindings } from "../../dialects/provider-response/stream-findings.ts";
import type { Piece } from "../exchange/client-call.ts";
import type { StreamRelayer } from "./pending-response.ts";

const nothing = new Uint8Array(0);

/** Forwards bytes that are not events, such as audio. The last byte waits for the charge, which does not depend on it. */
export class BytesRelayer implements StreamRelayer {
  readonly isRaw = true;
  readonly found = new StreamFindings();
  readonly isCollecting = false;
  readonly largeEvent = null;
  readonly isComplete = false;
  #last: Uint8Array = nothing;

  push(chunk: Uint8Array): Piece {
    if (chunk.length === 0) return nothing;
    this.found.addUncounted();
    const leaving = Buffer.concat([this.#last, chunk.subarray(0, -1)]);
    this.#last = Uint8Array.from(chunk.subarray(-1));
    return leaving;
  }

  /** Tokens are none of its units. */
  end(): Piece {
    this.found.add([{ type: "cost", usage: noUsage, extras: {}, isFinal: true }, { type: "end" }]);
    return nothing;
  }

  get ended(): boolean {
    return this.found.ended;
  }

  terminal(): Piece {
    return this.#last;
  }

  resume(): Piece {
    return nothing;
  }

  showUsage(): void {}

  failure(): string {
    return "";
  }

  heartbeat(): string {
    return "";
  }
}

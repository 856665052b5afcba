import { withoutRest } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";

const lf = 10;
const cr = 13;

/** Far above any real event; the limit keeps one call from using up the memory. */
export const maxEventBytes = 8 * 1024 * 1024;

/**
 * Cuts a provider's byte stream after whole server-sent events. Most network chunks hold whole events and are returned
 * without a copy. An event that is split over two chunks waits for its second half.
 */
export class FrameJoiner {
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;

  /** Number of bytes received of an incomplete event. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** All events that are now complete, in one piece; null if there is none. */
  push(chunk: Uint8Array): Uint8Array | null {
    const end = this.#pendingBytes === 0 ? wholeEventsEnd(chunk) : this.#endBehindPending(chunk);
    if (end === 0) {
      this.#keep(chunk);
      return null;
    }
    const head = end === chunk.length ? chunk : chunk.subarray(0, end);
    const whole = this.#pendingBytes === 0 ? head : this.#takePending(head);
    if (end < chunk.length) this.#keep(withoutRest(chunk.subarray(end)));
    return whole;
  }

  /** The bytes after the last whole event. The stream's last event may lack its blank line. */
  rest(): Uint8Array | null {
    return this.#pendingBytes === 0 ? null : this.#takePending(new Uint8Array(0));
  }

  #keep(chunk: Uint8Array): void {
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
    if (this.#pendingBytes > maxEventBytes) {
      throw new GatewayError("upstream_error", "The provider sent an event larger than 8 MiB.");
    }
  }

  #takePending(last: Uint8Array): Uint8Array {
    const whole = Buffer.concat([...this.#pending, last]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return whole;
  }

  /** A blank line may itself be split, so the seam is searched if the chunk alone has none. */
  #endBehindPending(chunk: Uint8Array): number {
    const end = wholeEventsEnd(chunk);
    if (end > 0) return end;
    const before = this.#lastPendingBytes();
    const seam = Buffer.concat([before, chunk.subarray(0, 3)]);
    const seamEnd = wholeEventsEnd(seam);
    return seamEnd > before.length ? seamEnd - before.length : 0;
  }

  #lastPendingBytes(): Uint8Array {
    const tail: number[] = [];
    for (let last = this.#pending.length - 1; last >= 0 && tail.length < 3; last -= 1) {
      tail.unshift(...(this.#pending[last]?.subarray(-(3 - tail.length)) ?? []));
    }
    return Uint8Array.from(tail);
  }
}

/**
 * The index after the last blank line, 0 if there is none. Lines may end in LF, CRLF or CR. A final CR after a CRLF is the first
 * half of a second CRLF: cutting there would put its LF into the next event, to be dropped with it.
 */
function wholeEventsEnd(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at > 0; at -= 1) {
    const byte = bytes[at];
    if (byte !== lf && byte !== cr) continue;
    const before = bytes[at - 1];
    if (byte === lf && before === lf) return at + 1;
    const isHalf = at === bytes.length - 1 && before === lf && (at === 1 || bytes[at - 2] === cr);
    if (byte === cr && (before === cr || before === lf) && !isHalf) return at + 1;
    if (byte === lf && before === cr && at > 1 && (bytes[at - 2] === lf || bytes[at - 2] === cr))
      return at + 1;
  }
  return 0;
}

import { assert } from "../base/assert.ts";
import type { Head, Receiver, Transfer } from "./transfer.ts";

export interface CollectedResponse {
  readonly status: number;
  readonly head: Head;
  readonly text: string;
}

/** Collects one complete response. Aborting the signal cancels the transfer. */
export function collectResponse(
  send: (receiver: Receiver) => Transfer,
  signal: AbortSignal,
): Promise<CollectedResponse> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const pieces: Uint8Array[] = [];
    let answer: Head | null = null;
    const transfer = send({
      connected() {},
      answered(head: Head) {
        answer = head;
      },
      received: (bytes) => void pieces.push(bytes),
      ended() {
        assert(answer !== null, "an answer that has ended had a head");
        const { status } = answer;
        resolve({ status, head: answer, text: Buffer.concat(pieces).toString() });
      },
      failed: reject,
    });
    signal.addEventListener("abort", () => {
      transfer.cancel();
      reject(signal.reason);
    });
  });
}

import type { Head, Receiver, Transfer } from "./transfer.ts";

export interface CollectedAnswer {
  readonly status: number;
  readonly text: string;
}

/** Collects one whole answer. Aborting the signal cancels the transfer. */
export function collectAnswer(
  send: (receiver: Receiver) => Transfer,
  signal: AbortSignal,
): Promise<CollectedAnswer> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const pieces: Uint8Array[] = [];
    let status = 0;
    const transfer = send({
      connected() {},
      answered(head: Head) {
        status = head.status;
      },
      received: (bytes) => void pieces.push(bytes),
      ended: () => resolve({ status, text: Buffer.concat(pieces).toString() }),
      failed: reject,
    });
    signal.addEventListener("abort", () => {
      transfer.cancel();
      reject(signal.reason);
    });
  });
}

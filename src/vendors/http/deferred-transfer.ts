import type { Receiver, Transfer } from "../../wire/transfer.ts";

/**
 * A transfer that waits for something, e.g. a token, before its request is sent. Until then it counts as not connected:
 * nothing was sent, and the deadline for connecting covers the wait.
 */
export class DeferredTransfer implements Transfer {
  readonly #receiver: Receiver;
  #transfer: Transfer | null = null;
  #isPaused = false;
  #isCancelled = false;

  constructor(waiting: Promise<void>, send: () => Transfer, receiver: Receiver) {
    this.#receiver = receiver;
    this.#run(waiting, send);
  }

  get isConnected(): boolean {
    return this.#transfer?.isConnected ?? false;
  }

  get isSent(): boolean {
    return this.#transfer?.isSent ?? false;
  }

  pause(): void {
    this.#isPaused = true;
    this.#transfer?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#transfer?.resume();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#transfer?.cancel();
  }

  async #run(waiting: Promise<void>, send: () => Transfer): Promise<void> {
    try {
      await waiting;
      if (this.#isCancelled) return;
      this.#transfer = send();
    } catch (cause) {
      if (!this.#isCancelled) this.#receiver.failed(cause);
      return;
    }
    if (this.#isPaused) this.#transfer.pause();
    if (this.#transfer.isConnected) this.#receiver.connected();
  }
}

import { Bag } from "../../base/collections/churn-map.ts";

/** A client's WebSocket. */
export interface OpenSocket {
  /** Whether its frames may be compressed. */
  readonly isCompressed: boolean;
  /** Closes it once everything on it has ended. */
  closeWhenIdle(code: number, reason: string): void;
  /** Sends the client the reason and closes the socket. Unread data is dropped. */
  cutOff(): void;
}

export const closeCodes = {
  /** The gateway shuts down, or it has been open for as long as it may be. */
  goingAway: 1001,
  keyInvalid: 1008,
  tooMuch: 1013,
} as const;

/** All WebSockets, by the id of the key that each was opened with. */
export class OpenSockets {
  readonly #byKey = new Map<string, Bag<OpenSocket>>();

  countOf(keyId: string): number {
    return this.#byKey.get(keyId)?.size ?? 0;
  }

  add(keyId: string, socket: OpenSocket): void {
    this.#byKey.getOrInsertComputed(keyId, () => new Bag()).add(socket);
  }

  remove(keyId: string, socket: OpenSocket): void {
    const sockets = this.#byKey.get(keyId);
    sockets?.delete(socket);
    if (sockets?.size === 0) this.#byKey.delete(keyId);
  }

  /**
   * Called when a key's compressed frames exceed their limit. More of them may have arrived already, and would be
   * decompressed when they are read.
   */
  cutOffCompressed(keyId: string): void {
    for (const socket of this.#byKey.get(keyId) ?? []) if (socket.isCompressed) socket.cutOff();
  }

  /** For a shutdown. */
  closeAll(): void {
    for (const sockets of this.#byKey.values()) {
      for (const socket of sockets)
        socket.closeWhenIdle(closeCodes.goingAway, "The gateway is shutting down.");
    }
  }
}

import { Bag, type Bagged } from "../../base/bag.ts";

/** A client's WebSocket. */
export interface OpenSocket extends Bagged {
  /** Closes it once everything on it has ended. */
  closeWhenIdle(code: number, reason: string): void;
}

export const closeCodes = {
  /** The gateway shuts down, or it has been open for as long as it may be. */
  goingAway: 1001,
  keyInvalid: 1008,
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

  /** For a shutdown. */
  closeAll(): void {
    for (const sockets of this.#byKey.values()) {
      for (const socket of sockets)
        socket.closeWhenIdle(closeCodes.goingAway, "The gateway is shutting down.");
    }
  }
}

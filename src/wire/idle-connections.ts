import type { Connection } from "./connection.ts";

/**
 * Connections without a request, each kept for the caller whose requests it has carried. A server that says more
 * than it was asked, a moment after its answer, is not to be found out before the next request is on that
 * connection: what was meant for one caller could then reach another. So no two callers share one.
 */
export class IdleConnections {
  readonly #most: number;
  /** Of each caller the one used last is used next, so that those not needed grow old. Null: not used so far. */
  readonly #byCaller = new Map<string | null, Connection[]>();
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return this.#count;
  }

  /** One that has served this caller, or else nobody. */
  take(caller: string): Connection | null {
    return this.#pop(caller) ?? this.#pop(null);
  }

  #pop(caller: string | null): Connection | null {
    const connections = this.#byCaller.get(caller);
    const connection = connections?.pop();
    if (connections === undefined || connection === undefined) return null;
    if (connections.length === 0) this.#byCaller.delete(caller);
    this.#count -= 1;
    return connection;
  }

  /** Above the limit, an old one of the caller who has been idle longest is dropped. */
  add(connection: Connection): void {
    const connections = this.#byCaller.get(connection.caller);
    if (connections === undefined) this.#byCaller.set(connection.caller, [connection]);
    else connections.push(connection);
    this.#count += 1;
    if (this.#count > this.#most) this.#dropOldest();
  }

  remove(connection: Connection): void {
    const connections = this.#byCaller.get(connection.caller);
    const at = connections?.indexOf(connection) ?? -1;
    if (connections === undefined || at === -1) return;
    connections.splice(at, 1);
    if (connections.length === 0) this.#byCaller.delete(connection.caller);
    this.#count -= 1;
  }

  /** Drops those that were found idle more often than this since they were last used. */
  sweep(mostSweeps: number): void {
    for (const connections of [...this.#byCaller.values()]) {
      for (const connection of [...connections]) {
        connection.idleSweeps += 1;
        if (connection.idleSweeps > mostSweeps) this.#drop(connection);
      }
    }
  }

  /** Callers stand in the order in which each last came to have an idle connection. */
  #dropOldest(): void {
    const [connections = []] = this.#byCaller.values();
    const [oldest] = connections;
    if (oldest !== undefined) this.#drop(oldest);
  }

  #drop(connection: Connection): void {
    this.remove(connection);
    connection.drop();
  }
}

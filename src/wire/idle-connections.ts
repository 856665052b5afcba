import { ChurnMap } from "../base/collections/churn-map.ts";
import type { Connection } from "./connection.ts";

const none = (): Connection[] => [];

/**
 * The idle connections of a pool, each reserved for the caller that has used it. If a server sends surplus bytes a
 * moment after its response, the next request may be on that connection already, and would get them as its response.
 * With a connection per caller they never reach another caller.
 */
export class IdleConnections {
  readonly #max: number;
  /** The last one used is reused first, so that surplus ones age and are swept. Null: not used by any caller so far. */
  readonly #byCaller = new ChurnMap<string | null, Connection[]>();
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get count(): number {
    return this.#count;
  }

  /** One that this caller has used, or one that is unused. */
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

  /** Above the limit, drops the oldest one of the caller that has been idle longest. */
  add(connection: Connection): void {
    this.#byCaller.getOrInsertComputed(connection.caller, none).push(connection);
    this.#count += 1;
    if (this.#count > this.#max) this.#dropOldest();
  }

  remove(connection: Connection): void {
    const connections = this.#byCaller.get(connection.caller);
    const at = connections?.indexOf(connection) ?? -1;
    if (connections === undefined || at === -1) return;
    connections.splice(at, 1);
    if (connections.length === 0) this.#byCaller.delete(connection.caller);
    this.#count -= 1;
  }

  /** Drops connections that more than `maxSweeps` sweeps in a row have found idle. */
  sweep(maxSweeps: number): void {
    for (const connections of [...this.#byCaller.values()]) {
      for (const connection of [...connections]) {
        connection.idleSweeps += 1;
        if (connection.idleSweeps > maxSweeps) this.#drop(connection);
      }
    }
  }

  /** The map is ordered by when a caller last went from no idle connection to one. */
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

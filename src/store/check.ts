import type { NodeRecord } from "./node-records.ts";

/** What can be said about a database before anything is done with it. */
export interface DatabaseCheck {
  /** `db.example.com:5432/sluice`. */
  readonly name: string;
  /** Of the server, `15.18`. */
  readonly serverVersion: string;
  readonly isEncrypted: boolean;
  /** The median of a few. */
  readonly roundTripMs: number;
  readonly schema: {
    /** 0 for an empty database. */
    readonly version: number;
    /** What this program brings it to. */
    readonly known: number;
  };
  readonly nodes: readonly NodeRecord[];
}

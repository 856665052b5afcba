import type { NodeRecord } from "./node-records.ts";

/** The state of a database before it is used. */
export interface DatabaseCheck {
  /** `db.example.com:5432/sluice`. */
  readonly name: string;
  /** The server's version, such as `15.18`. */
  readonly serverVersion: string;
  readonly isEncrypted: boolean;
  /** The median of several round trips. */
  readonly roundTripMs: number;
  readonly schema: {
    /** 0 for an empty database. */
    readonly version: number;
    /** The newest version that this program knows. */
    readonly known: number;
  };
  readonly nodes: readonly NodeRecord[];
}

import { join } from "node:path";

/** The gateway's description of itself for commands, on the socket in its data folder, at `helloPath`. */
export interface GatewayHello {
  readonly version: string;
  readonly pid: number;
  /** Where clients reach it. */
  readonly address: string;
  /** The name of its database; null if the data is in the folder. */
  readonly store: string | null;
}

export const helloPath = "/hello";

export function commandSocket(dir: string): string {
  return join(dir, "sluice.sock");
}

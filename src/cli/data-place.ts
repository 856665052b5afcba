import { locateData } from "../config/locate-data.ts";
import { locateStore } from "../config/store.ts";
import type { PostgresLocation } from "../store/settings.ts";
import type { DataOptions } from "./help.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The data folder that a command is for. With PostgreSQL it only has files of this machine's gateway. */
export function dataFolder({ config: file, data }: DataOptions, { env, cwd }: Terminal): string {
  return locateData({ file, data, env, cwd });
}

/** The database that a command is for; null if the data is in the folder. */
export function database(
  { config: file, store }: DataOptions,
  { env, cwd }: Terminal,
): PostgresLocation | null {
  return locateStore({ file, store, env, cwd });
}

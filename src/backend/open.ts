import { version } from "../../package.json";
import type { Clock } from "../base/clock.ts";
import type { Settings } from "../config/settings.ts";
import type { Log } from "../observe/log.ts";
import type { Backend } from "./backend.ts";
import { openPostgresBackend } from "./postgres.ts";
import { openSqliteBackend } from "./sqlite.ts";

export interface BackendOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
}

/** The backend that the settings ask for. */
export function openBackend({ settings, clock, log }: BackendOptions): Promise<Backend> {
  const { store: location, server } = settings;
  if (location !== null) {
    return openPostgresBackend({ location, nodeName: server.node, version, dir: server.data, clock, log });
  }
  return openSqliteBackend({ dir: server.data, clock, log });
}

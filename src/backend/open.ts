import type { Clock } from "../base/clock.ts";
import type { Settings } from "../config/settings.ts";
import type { Log } from "../observe/log.ts";
import type { Backend } from "./backend.ts";
import { openSqliteBackend } from "./sqlite.ts";

export interface BackendOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
}

/** The backend that the settings ask for. */
export function openBackend({ settings, clock, log }: BackendOptions): Promise<Backend> {
  return openSqliteBackend({
    dir: settings.server.dataDir,
    clock,
    onInterrupted: (interrupted) =>
      log.warn(
        { interrupted },
        "the last process ended in the middle of requests; what they had produced is charged",
      ),
  });
}

import { join } from "node:path";
import type { LoadJob, LoadResult } from "./load-job.ts";
import { track } from "./processes.ts";

export interface LoadProcess {
  run(job: LoadJob): Promise<LoadResult>;
  stop(): void;
}

/** Starts the load's own process; it runs one job at a time. */
export function startLoad(): LoadProcess {
  let answered: (result: LoadResult) => void = () => {};
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "load.ts")], {
    ipc: (result: LoadResult) => answered(result),
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
  });
  track(child);
  const ended = child.exited.then(() => {
    throw new Error("the load's process has ended");
  });
  ended.catch(() => {});
  return {
    run(job) {
      const { promise, resolve } = Promise.withResolvers<LoadResult>();
      answered = resolve;
      child.send(job);
      return Promise.race([promise, ended]);
    },
    stop: () => child.kill(),
  };
}

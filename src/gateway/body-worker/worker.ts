import { GatewayError } from "../../base/errors.ts";
import { FailedAnswer } from "../../dialects/errors/failure.ts";
import type { DoneMessage, JobMessage } from "./jobs.ts";
import { runJob } from "./run-job.ts";

declare const self: Worker;

self.onmessage = ({ data: { id, job } }: MessageEvent<JobMessage>) => {
  self.postMessage(done(id, job));
  // The parsed body is garbage now, and an idle thread does not collect by itself.
  Bun.gc(false);
};

function done(id: number, job: JobMessage["job"]): DoneMessage {
  try {
    return { id, result: runJob(job) };
  } catch (error) {
    if (!(error instanceof GatewayError)) return { id, failure: String((error as Error)?.stack ?? error) };
    const { code, message, param, vendor } = error;
    const reported = error instanceof FailedAnswer ? { usage: error.usage, extras: error.extras } : null;
    return { id, refusal: { code, message, param, vendor, reported } };
  }
}

import { GatewayError } from "../base/errors.ts";
import { serveRequests } from "../base/threads/worker-thread.ts";
import { FailedResponse } from "../dialects/errors/failure.ts";
import { patchJob } from "./attempt/passing.ts";
import { translateJob } from "./attempt/translating.ts";
import { resultJob } from "./batches/at-provider/result-job.ts";
import { scanLineJob } from "./batches/scan-lines.ts";
import { scanRequestJob } from "./batches/scan-requests.ts";
import { eventJob } from "./body-worker/body-worker.ts";
import type { DoneMessage, Job, JobMessage } from "./body-worker/job.ts";
import { endedJob, membersJob, shownJob, summaryJob } from "./conversations/item-jobs.ts";
import { meteredJob } from "./metered/metered-job.ts";
import { readJob } from "./request/check-body.ts";
import { responseJob } from "./response/read-response.ts";
import { frameJob } from "./socket/create-frame.ts";

/** Everything that is done with large bodies on the worker thread (body-worker/body-worker.ts). */
const jobs = [
  readJob,
  patchJob,
  translateJob,
  frameJob,
  shownJob,
  summaryJob,
  responseJob,
  endedJob,
  membersJob,
  meteredJob,
  eventJob,
  scanLineJob,
  scanRequestJob,
  resultJob,
] as const;

/** The gateway sends each job with the input that it declares. */
const byName = new Map(jobs.map((job) => [job.name, job as Job<unknown, unknown>]));

serveRequests(
  ({ name, input }: JobMessage): DoneMessage => {
    try {
      return { result: byName.get(name)?.run(input) };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const { code, message, param, vendor } = error;
      const reported = error instanceof FailedResponse ? { usage: error.usage, extras: error.extras } : null;
      return { refusal: { code, message, param, vendor, reported } };
    }
  },
  { collects: true },
);

import { FairQueue } from "../../base/collections/fair-queue.ts";
import { GatewayError } from "../../base/errors.ts";
import type { JobMessage, JobOwner, Result } from "./jobs.ts";

/** A job that waits for the thread, or runs on it. */
export interface QueuedJob {
  readonly message: JobMessage;
  /** Null for what a provider has sent. */
  readonly owner: JobOwner | null;
  resolve(result: Result): void;
  reject(error: Error): void;
}

/** Decides which job is next: what providers have sent before requests, and of these one of each key in turn. */
export class JobQueue {
  readonly #answers: QueuedJob[] = [];
  readonly #requests = new FairQueue<QueuedJob>();

  add(job: QueuedJob): void {
    if (job.owner === null) this.#answers.push(job);
    else this.#requests.add(job.owner.keyId, job);
  }

  next(): QueuedJob | undefined {
    for (const { reject } of this.#requests.remove(({ owner }) => owner?.isOver === true))
      reject(abandoned());
    return this.#answers.shift() ?? this.#requests.next();
  }

  takeRequests(): readonly QueuedJob[] {
    return this.#requests.remove(() => true);
  }

  takeAll(): readonly QueuedJob[] {
    return [...this.#answers.splice(0), ...this.takeRequests()];
  }
}

function abandoned(): GatewayError {
  return new GatewayError("service_unavailable", "The call was ended before its large body was read.");
}

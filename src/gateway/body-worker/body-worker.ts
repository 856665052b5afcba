import { FairQueue } from "../../base/collections/fair-queue.ts";
import { GatewayError } from "../../base/errors.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { startThread, threadSource } from "../../base/threads/start-thread.ts";
import { ThreadError, WorkerThread } from "../../base/threads/worker-thread.ts";
import { FailedResponse } from "../../dialects/errors/failure.ts";
import type { ParsedEvent } from "../../dialects/sse/event.ts";
import { parseEvent } from "../../dialects/sse/event.ts";
import type { DoneMessage, ExpectedError, Job, JobMessage, JobOwner } from "./job.ts";

/** Decides which job is next: what providers have sent before requests, and of these one of each key in turn. */
class JobQueue {
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

const source = threadSource("gateway/worker.ts");

/** Parses the data of an event of a stream. */
export const eventJob: Job<string, ParsedEvent> = { name: "event", run: parseEvent };

/**
 * Processes large requests and responses on a separate thread: parsing 31 MB takes up to half a second, and writing or
 * hashing them a tenth, during which no stream would progress.
 */
export class LargeBodies {
  readonly #queue = new JobQueue();
  readonly #thread: WorkerThread<JobMessage, DoneMessage>;
  /** On the thread. */
  #running: QueuedJob | null = null;
  /** Set once no more requests are read or prepared. */
  #refusal: GatewayError | null = null;

  constructor(start = () => startThread(source, { smol: true })) {
    this.#thread = new WorkerThread({ start, lost: threadLost });
  }

  /**
   * Reads or prepares a request. Keys take turns. Rejects with the job's error. If the client has disconnected, the job does not start.
   */
  runRequest<Input, Output>(job: Job<Input, Output>, input: Input, owner: JobOwner): Promise<Output> {
    return this.#run(job, input, owner);
  }

  /** Reads what a provider has sent, before any request: that call is paid for already. */
  runResponse<Input, Output>(job: Job<Input, Output>, input: Input): Promise<Output> {
    return this.#run(job, input, null);
  }

  /** The data of an event of a stream. */
  async parseEvent(data: string): Promise<ParsedEvent> {
    await bodyPacer.wait();
    return this.runResponse(eventJob, data);
  }

  /** Results are taken one per event-loop iteration, because taking one takes milliseconds too. */
  async #run<Input, Output>(
    { name }: Job<Input, Output>,
    input: Input,
    owner: JobOwner | null,
  ): Promise<Output> {
    if (this.#refusal !== null && owner !== null) throw this.#refusal;
    const { promise, resolve, reject } = Promise.withResolvers<Output>();
    // The thread answers each job with the result of its kind.
    const settle = resolve as QueuedJob["resolve"];
    this.#queue.add({ message: { name, input }, owner, resolve: settle, reject });
    if (this.#running === null) void this.#runAll();
    const result = await promise;
    await bodyPacer.wait();
    return result;
  }

  /** Runs jobs one after the other, until none waits. */
  async #runAll(): Promise<void> {
    for (let job = this.#queue.next(); job !== undefined; job = this.#queue.next()) {
      this.#running = job;
      try {
        const done = await this.#thread.ask(job.message);
        if ("result" in done) job.resolve(done.result);
        else job.reject(refused(done.refusal));
      } catch (error) {
        this.#failed(job, error);
      }
    }
    this.#running = null;
  }

  #failed(job: QueuedJob, error: unknown): void {
    if (error instanceof ThreadError) {
      job.reject(new Error(`a large body could not be processed: ${error.stack}`));
      return;
    }
    for (const { reject } of [job, ...this.#queue.takeAll()]) reject(threadLost());
  }

  /**
   * Rejects requests from now on, including waiting ones: a shutdown should not wait for their jobs, which cannot be
   * interrupted. Responses are still read, because a provider has been paid for them.
   */
  rejectRequests(error: GatewayError): void {
    this.#refusal = error;
    for (const { reject } of this.#queue.takeRequests()) reject(error);
    if (this.#running?.owner !== null) this.#running?.reject(error);
  }

  /** Ends the thread; a later job starts it again. */
  stop(): void {
    this.#thread.stop();
  }
}

function refused({ code, message, param, vendor, reported }: ExpectedError): GatewayError {
  const error = new GatewayError(code, message, { param, vendor });
  return reported === null ? error : new FailedResponse(error, reported.usage, reported.extras);
}

function threadLost(): GatewayError {
  return new GatewayError(
    "service_unavailable",
    "The gateway could not read a large body. Retry in a few seconds.",
  );
}

/** A job that waits for the thread, or runs on it. */
interface QueuedJob {
  readonly message: JobMessage;
  /** Null for what a provider has sent. */
  readonly owner: JobOwner | null;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

function abandoned(): GatewayError {
  return new GatewayError("service_unavailable", "The call was ended before its large body was read.");
}

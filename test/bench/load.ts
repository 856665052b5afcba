import { type Listener, LoadConnection } from "./load-connection.ts";
import type { LoadJob, LoadResult, LoadTarget } from "./load-job.ts";
import { cpuMicros } from "./proc.ts";

/** The load, a process of its own: takes one job at a time from its parent and answers with the result. */

process.on("message", async (job: LoadJob) => {
  process.send?.(job.mode === "window" ? await runWindow(job) : await runOnce(job));
});

/** More samples than this do not make a percentile better. */
const maxSamples = 200_000;

class Tally implements Listener {
  requests = 0;
  events = 0;
  failures = 0;
  firstFailure: string | null = null;
  measuring = false;
  readonly latencies = new Float64Array(maxSamples);
  readonly firstEvents = new Float64Array(maxSamples);
  readonly #gaps = new Float64Array(maxSamples);
  #gapCount = 0;
  #longestGapMs = 0;
  readonly #eventsPerResponse: number;
  readonly #again: (connection: LoadConnection) => void;

  constructor(eventsPerResponse: number, again: (connection: LoadConnection) => void) {
    this.#eventsPerResponse = eventsPerResponse;
    this.#again = again;
  }

  onEvents(connection: LoadConnection, events: number): void {
    if (!this.measuring) return;
    this.events += events;
    if (connection.gapMs === 0) return;
    if (this.#gapCount < maxSamples) this.#gaps[this.#gapCount] = connection.gapMs;
    this.#gapCount++;
    this.#longestGapMs = Math.max(this.#longestGapMs, connection.gapMs);
  }

  onAnswer(connection: LoadConnection, failure: string | null): void {
    if (failure !== null) this.#fail(failure);
    else if (connection.events !== this.#eventsPerResponse) {
      this.#fail(`an answer had ${connection.events} events, not ${this.#eventsPerResponse}`);
    } else if (this.measuring) this.#sample(connection);
    this.#again(connection);
  }

  #sample(connection: LoadConnection): void {
    const at = this.requests++;
    if (at >= maxSamples) return;
    this.latencies[at] = performance.now() - connection.sentAtMs;
    this.firstEvents[at] = connection.firstEventAtMs - connection.sentAtMs;
  }

  #fail(reason: string): void {
    this.failures++;
    this.firstFailure ??= reason;
  }

  result(seconds: number, cpu: number, streaming: boolean): LoadResult {
    const { requests, events, failures, firstFailure } = this;
    const latencies = this.latencies.subarray(0, Math.min(requests, maxSamples)).sort();
    const gaps = this.#gaps.subarray(0, Math.min(this.#gapCount, maxSamples)).sort();
    const firstEvents = this.firstEvents.subarray(0, Math.min(requests, maxSamples)).sort();
    return {
      requests,
      events,
      failures,
      firstFailure,
      seconds,
      cpuMicros: cpu,
      p50Micros: quantileMicros(latencies, 0.5),
      p99Micros: quantileMicros(latencies, 0.99),
      firstEventP50Micros: streaming ? quantileMicros(firstEvents, 0.5) : 0,
      gapP99Ms: quantileMicros(gaps, 0.99) / 1000,
      longestGapMs: this.#longestGapMs,
    };
  }
}

function quantileMicros(sorted: Float64Array, quantile: number): number {
  return (sorted[Math.floor(sorted.length * quantile)] ?? 0) * 1000;
}

/** How long answers are waited for that are under way when a window ends. */
const timeoutMs = 2000;

async function runWindow(job: LoadJob): Promise<LoadResult> {
  const { promise: allEnded, resolve } = Promise.withResolvers<void>();
  let open = job.concurrency;
  let over = false;
  const tally = new Tally(job.eventsPerResponse, (connection) => {
    if (!over && tally.failures < 100) connection.send();
    else if (--open === 0) resolve();
  });
  const connections = await openConnections(job, tally);
  for (const connection of connections) connection.send();
  await Bun.sleep(job.warmupMs);

  tally.measuring = true;
  const cpuBefore = readCpu(job.target);
  const startedAtMs = performance.now();
  await Bun.sleep(job.windowMs);
  tally.measuring = false;
  over = true;
  const seconds = (performance.now() - startedAtMs) / 1000;
  const cpu = readCpu(job.target) - cpuBefore;
  // Streams that are cut off are another kind of work for a gateway, which would reach into the next window.
  await Promise.race([allEnded, Bun.sleep(timeoutMs)]);
  for (const connection of connections) connection.close();
  return tally.result(seconds, cpu, job.eventsPerResponse > 0);
}

async function runOnce(job: LoadJob): Promise<LoadResult> {
  const { promise: allEnded, resolve } = Promise.withResolvers<void>();
  const { requestsPerConnection = 1 } = job;
  let open = job.concurrency;
  const sent = new Map<LoadConnection, number>();
  const tally = new Tally(job.eventsPerResponse, (connection) => {
    const requests = sent.get(connection) ?? 1;
    sent.set(connection, requests + 1);
    if (requests < requestsPerConnection && tally.failures === 0) {
      connection.send();
      return;
    }
    connection.close();
    if (--open === 0) resolve();
  });
  const connections = await openConnections(job, tally);
  tally.measuring = true;
  const cpuBefore = readCpu(job.target);
  const startedAtMs = performance.now();
  for (const connection of connections) connection.send();
  await allEnded;
  const seconds = (performance.now() - startedAtMs) / 1000;
  return tally.result(seconds, readCpu(job.target) - cpuBefore, job.eventsPerResponse > 0);
}

async function openConnections(job: LoadJob, listener: Listener): Promise<LoadConnection[]> {
  const { hostname, port } = new URL(job.target.url);
  const { keys = [] } = job.target;
  const requests =
    keys.length === 0 ? [requestBytes(job.target)] : keys.map((key) => withKey(job.target, key));
  const connections = Array.from({ length: job.concurrency }, (_, index) => {
    const request = requests[index % requests.length] ?? Buffer.alloc(0);
    if (!job.target.isSocket) return new LoadConnection(request, listener);
    return new LoadConnection(Buffer.from(job.target.body), listener, handshakeBytes(job.target));
  });
  await Promise.all(connections.map((connection) => connection.open(hostname, Number(port))));
  return connections;
}

function withKey(target: LoadTarget, key: string): Buffer {
  return requestBytes({ ...target, headers: { ...target.headers, authorization: `Bearer ${key}` } });
}

function requestBytes({ url, path, headers, body }: LoadTarget): Buffer {
  const own = { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
  return Buffer.from(`POST ${path} ${headOf(url, { ...own, ...headers })}${body}`);
}

function handshakeBytes({ url, path, headers }: LoadTarget): Buffer {
  const own = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  };
  return Buffer.from(`GET ${path} ${headOf(url, { ...own, ...headers })}`);
}

function headOf(url: string, headers: LoadTarget["headers"]): string {
  const lines = Object.entries({ host: new URL(url).host, ...headers });
  return `HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
}

function readCpu({ pid }: LoadTarget): number {
  return pid === null ? 0 : cpuMicros(pid);
}

import { describe, expect, test } from "bun:test";
import { TokenCounter } from "../../src/catalog/tokens/counter.ts";
import type { CountJob } from "../../src/catalog/tokens/worker.ts";

/** A thread that answers a job only when the test lets it. */
class PatientThread {
  readonly given: CountJob[] = [];
  readonly #worker = {
    postMessage: (job: CountJob) => void this.given.push(job),
    terminate: () => undefined,
    unref: () => undefined,
    // The cast holds because the counter uses nothing else of a worker.
  } as unknown as Worker;
  #answered = 0;

  readonly start = () => this.#worker;

  answer(): void {
    const job = this.given[this.#answered];
    this.#answered += 1;
    this.#worker.onmessage?.({ data: { id: job?.id, tokens: 1, texts: null } } as MessageEvent);
  }

  /** The keys whose bodies it was given, in order. */
  get names(): string[] {
    return this.given.map(({ what }) =>
      what instanceof Uint8Array ? String.fromCharCode(what[0] ?? 0) : "text",
    );
  }
}

const large = (name: string) => new Uint8Array(100_000).fill(name.charCodeAt(0));

describe("counts of large bodies", () => {
  test("wait for the one that runs, and not for the others of another key", async () => {
    const thread = new PatientThread();
    const counter = new TokenCounter({ deadlineMs: 60_000, startWorker: thread.start });
    const counts = Array.from({ length: 8 }, () => counter.of("a").request(large("a")));
    expect(thread.names).toEqual(["a"]);
    counts.push(counter.of("b").request(large("b")));
    thread.answer();
    expect(thread.names).toEqual(["a", "b"]);
    for (let count = 0; count < 8; count += 1) thread.answer();
    expect(thread.names.join("")).toBe("abaaaaaaa");
    expect(await Promise.all(counts)).toEqual(Array(9).fill(1));
    counter.stop();
  });

  test("small texts are counted without waiting for an answer in between", () => {
    const thread = new PatientThread();
    const counter = new TokenCounter({ deadlineMs: 60_000, startWorker: thread.start });
    for (let count = 0; count < 20; count += 1) void counter.of("a").text(["hello"]);
    expect(thread.given).toHaveLength(20);
    counter.stop();
  });

  test("what has been given up is not counted, nor kept", async () => {
    const thread = new PatientThread();
    const counter = new TokenCounter({ deadlineMs: 20, startWorker: thread.start });
    const tooLate = await Promise.all(["a", "b", "c"].map((name) => counter.of(name).request(large(name))));
    expect(tooLate.every((tokens) => tokens > 1)).toBe(true);
    const next = counter.of("d").request(large("d"));
    expect(thread.names).toEqual(["a"]);
    thread.answer();
    expect(thread.names).toEqual(["a", "d"]);
    thread.answer();
    expect(await next).toBe(1);
    counter.stop();
  });

  test("a thread that was stopped is given the next at once", async () => {
    const thread = new PatientThread();
    const counter = new TokenCounter({ deadlineMs: 60_000, startWorker: thread.start });
    const lost = [counter.of("a").request(large("a")), counter.of("a").request(large("a"))];
    counter.stop();
    expect((await Promise.all(lost)).every((tokens) => tokens > 1)).toBe(true);
    void counter.of("b").request(large("b"));
    expect(thread.names).toEqual(["a", "b"]);
    counter.stop();
  });
});

import { expect, test } from "bun:test";
import { AdaptiveWriter } from "../../../src/store/journal/adaptive-writer.ts";
import { BatchFailure, type TimedWriter } from "../../../src/store/journal/batch-writer.ts";
import { type Driver, DriverChoice } from "../../../src/store/journal/driver-choice.ts";
import type { JournalItem } from "../../../src/store/store.ts";
import { waitFor } from "../../support/wait.ts";

/** Takes note of what reaches it, as `inline:one`; its commits take as long as the test says. */
class NotingWriter implements TimedWriter {
  lastCommitMs = 0;
  fails = false;
  readonly #name: string;
  readonly #notes: string[];

  constructor(name: string, notes: string[]) {
    this.#name = name;
    this.#notes = notes;
  }

  write(items: readonly JournalItem[], rollUp: boolean): void {
    if (this.fails) throw new BatchFailure("busy", "database is locked");
    const what = items.map((item) => (item.kind === "release" ? item.holdId : item.kind)).join("+");
    this.#notes.push(`${this.#name}:${what}${rollUp ? "sums" : ""}`);
  }

  close(): void {
    this.#notes.push(`${this.#name}:closed`);
  }
}

interface Bench {
  readonly notes: string[];
  readonly inline: NotingWriter;
  readonly thread: NotingWriter;
  readonly choice: DriverChoice;
  readonly drivers: Driver[];
  readonly writer: AdaptiveWriter;
  write(name: string): Promise<void>;
}

function newBench(openThread?: () => Promise<TimedWriter>): Bench {
  const notes: string[] = [];
  const [inline, thread] = [new NotingWriter("inline", notes), new NotingWriter("thread", notes)];
  const choice = new DriverChoice("inline");
  const drivers: Driver[] = [];
  const writer = new AdaptiveWriter({
    inline,
    openThread: openThread ?? (async () => thread),
    choice,
    onChange: (driver) => drivers.push(driver),
  });
  const write = async (name: string) => await writer.write([{ kind: "release", holdId: name }], false);
  return { notes, inline, thread, choice, drivers, writer, write };
}

test("batches change over in order, and the old writer writes its sums first", async () => {
  const { notes, inline, choice, drivers, writer, write } = newBench();
  inline.lastCommitMs = 100;
  for (const name of ["1", "2", "3", "4"]) await write(name);
  choice.decide("inline");
  await write("5");
  await writer.close();
  expect(notes).toEqual([
    "inline:1",
    "inline:2",
    "inline:3",
    "inline:sums",
    "thread:4",
    "thread:sums",
    "thread:closed",
    "inline:5",
    "inline:closed",
  ]);
  expect(drivers).toEqual(["thread", "inline"]);
});

test("the batch in which the driver changes is written only once its new writer says so", async () => {
  const gate = Promise.withResolvers<void>();
  const slow: TimedWriter = { lastCommitMs: 0, write: () => gate.promise, close: () => {} };
  const { choice, drivers, write } = newBench(async () => slow);
  choice.decide("thread");
  let isWritten = false;
  const writing = write("1").then(() => {
    isWritten = true;
  });
  await waitFor(() => drivers.length === 1, "the driver to change");
  expect(isWritten).toBe(false);
  gate.resolve();
  await writing;
  expect(isWritten).toBe(true);
});

test("a thread that cannot be had leaves everything as it is, and is asked for again later", async () => {
  let opened = 0;
  const { notes, inline, drivers, write } = newBench(async () => {
    opened += 1;
    throw new Error("no memory for a thread");
  });
  inline.lastCommitMs = 100;
  for (let batch = 1; batch <= 7; batch += 1) await write(String(batch));
  expect(notes).toEqual(["1", "2", "3", "4", "5", "6", "7"].map((name) => `inline:${name}`));
  expect(opened).toBe(2);
  expect(drivers).toEqual([]);
});

test("a lock during the change keeps the old writer, with its sums, and closes the new one", async () => {
  const { notes, inline, choice, drivers, write } = newBench();
  choice.decide("thread");
  inline.fails = true;
  await expect(write("1")).rejects.toThrow("locked");
  inline.fails = false;
  await write("1");
  expect(notes).toEqual(["thread:closed", "inline:1"]);
  expect(drivers).toEqual([]);
});

import { describe, expect, test } from "bun:test";
import { newStats } from "../../../src/store/health.ts";
import { BatchFailure, type BatchWriter } from "../../../src/store/journal/batch-writer.ts";
import type { JournalItem } from "../../../src/store/store.ts";
import { waitFor } from "../../support/wait.ts";
import { newJournal } from "./fixtures.ts";

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Takes note of every batch, by the ids of its holds. */
function notingWriter(): BatchWriter & { readonly batches: string[][] } {
  const batches: string[][] = [];
  return {
    batches,
    write(items) {
      const ids = items.flatMap((item) => (item.kind === "release" ? [item.holdId] : []));
      if (ids.length > 0) batches.push(ids);
    },
  };
}

const releases = (...ids: readonly string[]): JournalItem[] =>
  ids.map((holdId) => ({ kind: "release", holdId }));

describe("a batch", () => {
  test("has a limit, so that a crowd does not stall the streams; all are written, in order, none torn apart", async () => {
    const writer = notingWriter();
    const journal = newJournal(writer);
    const ended: number[] = [];
    const pairs = Array.from({ length: 900 }, (_, index) => [`${index} first`, `${index} second`] as const);
    await Promise.all(
      pairs.map((pair, index) => journal.commit(releases(...pair)).then(() => ended.push(index))),
    );
    expect(writer.batches.flat()).toEqual(pairs.flat());
    expect(ended).toEqual(pairs.map((_, index) => index));
    for (const batch of writer.batches) {
      expect(batch.length).toBeLessThanOrEqual(512);
      expect(batch[0]).toEndWith("first");
      expect(batch.at(-1)).toEndWith("second");
    }
    await journal.close();
  });

  test("has a limit in bytes, too: others get their turn between the parts of a large response", async () => {
    const sizes: number[] = [];
    let turns = 0;
    const writer: BatchWriter = {
      write(items) {
        const parts = items.flatMap((item) => (item.kind === "part" ? [item.part.body.length] : []));
        if (parts.length > 0) sizes.push(parts.reduce((sum, bytes) => sum + bytes));
      },
    };
    const journal = newJournal(writer);
    const isOver = { now: false };
    const count = () => {
      turns += 1;
      if (!isOver.now) setImmediate(count);
    };
    setImmediate(count);
    const body = new Uint8Array(256 * 1024);
    await Promise.all(
      Array.from({ length: 40 }, (_, sequence) =>
        journal.commit([{ kind: "part", part: { recordingId: "one", sequence, body } }], sequence < 39),
      ),
    );
    isOver.now = true;
    expect(sizes).toEqual(Array.from({ length: 20 }, () => 512 * 1024));
    expect(turns).toBeGreaterThanOrEqual(19);
    await journal.close();
  });

  test("never has content and charges: they take turns, whatever waits", async () => {
    const batches: string[][] = [];
    const gate = Promise.withResolvers<void>();
    const writer: BatchWriter = {
      async write(items) {
        await gate.promise;
        if (items.length > 0) batches.push(items.map(({ kind }) => kind));
      },
    };
    const journal = newJournal(writer);
    const body = new Uint8Array(256 * 1024);
    const content = Array.from({ length: 8 }, (_, sequence) =>
      journal.commit([{ kind: "part", part: { recordingId: "one", sequence, body } }]),
    );
    await nextTurn();
    const charges = [journal.commit(releases("first")), journal.commit(releases("second"))];
    const discarded = journal.commit([{ kind: "discard", recordingId: "one" }]);
    gate.resolve();
    await Promise.all([...content, ...charges, discarded]);
    const parts = ["part", "part"];
    expect(batches).toEqual([parts, ["release", "release"], parts, parts, [...parts, "discard"]]);
    await journal.close();
  });

  test("of those who come while a crowd is being written goes out behind it, in order", async () => {
    const writer = notingWriter();
    const gate = Promise.withResolvers<void>();
    const slow: BatchWriter = {
      async write(items) {
        await gate.promise;
        await writer.write(items);
      },
    };
    const journal = newJournal(slow);
    const early = Array.from({ length: 700 }, (_, index) => journal.commit(releases(`early ${index}`)));
    await nextTurn();
    await nextTurn();
    const late = Array.from({ length: 700 }, (_, index) => journal.commit(releases(`late ${index}`)));
    gate.resolve();
    await Promise.all([...early, ...late]);
    const expected = ["early", "late"].flatMap((who) => early.map((_, index) => `${who} ${index}`));
    expect(writer.batches.flat()).toEqual(expected);
    await journal.close();
  });

  test("may be a single commit that is larger than the limit", async () => {
    const writer = notingWriter();
    const journal = newJournal(writer);
    const ids = Array.from({ length: 600 }, (_, index) => String(index));
    await Promise.all([journal.commit(releases("before")), journal.commit(releases(...ids))]);
    expect(writer.batches).toEqual([["before"], ids]);
    await journal.close();
  });

  test.each([
    [7, false],
    [8, true],
  ])(
    "after one of %d items takes along who comes a turn later only in a crowd",
    async (first, isTogether) => {
      const writer = notingWriter();
      const journal = newJournal(writer);
      await journal.commit(releases(...Array.from({ length: first }, () => "first")));
      await nextTurn();
      const early = journal.commit(releases("early"));
      await nextTurn();
      await Promise.all([early, journal.commit(releases("late"))]);
      expect(writer.batches.slice(1)).toEqual(isTogether ? [["early", "late"]] : [["early"], ["late"]]);
      await journal.close();
    },
  );
});

describe("a batch in a crowd", () => {
  test.each([
    ["as long as each brings more", [1, 1, 1, 1, 1], 4],
    ["and no longer than four turns", [1, 1, 1, 1, 1, 1, 1], 4],
    ["until one brings none", [1, 1, 0, 0, 1], 2],
  ])("is gathered for several turns, %s", async (_, commitsPerTurn, expectedSize) => {
    const writer = notingWriter();
    const journal = newJournal(writer, { now: () => 0 });
    await journal.commit(releases(...Array.from({ length: 8 }, () => "first")));
    await nextTurn();
    const commits: Promise<void>[] = [];
    for (const count of commitsPerTurn) {
      for (let made = 0; made < count; made += 1) commits.push(journal.commit(releases("next")));
      await nextTurn();
    }
    await Promise.all(commits);
    expect(writer.batches[1]).toHaveLength(expectedSize);
    await journal.close();
  });

  test("is gathered for one turn while turns are long, because streams that end wait for it", async () => {
    const writer = notingWriter();
    let nowMs = 0;
    const journal = newJournal(writer, { now: () => nowMs });
    await journal.commit(releases(...Array.from({ length: 8 }, () => "first")));
    await nextTurn();
    const commits: Promise<void>[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      commits.push(journal.commit(releases("next")));
      nowMs += 3;
      await nextTurn();
    }
    await Promise.all(commits);
    expect(writer.batches[1]).toHaveLength(1);
    await journal.close();
  });
});

describe("a commit that no other follows", () => {
  test("is written within the turn", async () => {
    const writer = notingWriter();
    const journal = newJournal(writer);
    const hasTurned = nextTurn().then(() => true);
    const commit = journal.commit(releases("last"), false);
    expect(await Promise.race([hasTurned, commit.then(() => false)])).toBe(false);
    expect(writer.batches).toEqual([["last"]]);
    await journal.close();
  });

  test("joins what was committed just before, such as the ids of its answer", async () => {
    const writer = notingWriter();
    const journal = newJournal(writer);
    await Promise.all([journal.commit(releases("ids")), journal.commit(releases("last"), false)]);
    expect(writer.batches).toEqual([["ids", "last"]]);
    await journal.close();
  });

  test("waits again once others follow", async () => {
    const writer = notingWriter();
    const journal = newJournal(writer);
    await journal.commit(releases("alone"), false);
    const early = journal.commit(releases("early"));
    await Promise.resolve();
    await Promise.all([early, journal.commit(releases("late"))]);
    expect(writer.batches).toEqual([["alone"], ["early", "late"]]);
    await journal.close();
  });
});

describe("closing", () => {
  test("does not wait forever for a disk that stays full", async () => {
    const writer: BatchWriter = {
      write() {
        throw new BatchFailure("full", "database or disk is full");
      },
    };
    const journal = newJournal(writer, { closeTimeoutMs: 20 });
    const waiting = journal.commit([]);
    await Promise.all([journal.close(), expect(waiting).rejects.toThrow("full")]);
  });
});

test("a file that turns out to be damaged makes the store unhealthy for good", async () => {
  const writer: BatchWriter = {
    write() {
      throw new BatchFailure("damaged", "database disk image is malformed");
    },
  };
  const journal = newJournal(writer);
  await expect(journal.commit([])).rejects.toThrow("malformed");
  expect(journal.healthy).toBe(false);
  await journal.close();
});

describe("a batch that failed", () => {
  /** Takes note of every batch, and then throws. */
  function failingWriter(failure: Error): ReturnType<typeof notingWriter> {
    const writer = notingWriter();
    const { write } = writer;
    writer.write = (items) => {
      write(items);
      throw failure;
    };
    return writer;
  }

  test.each([
    ["an error that says nothing", new Error("the thread is gone")],
    ["damage", new BatchFailure("damaged", "database disk image is malformed")],
  ])("by %s may be on disk, and is not written again", async (_name, failure) => {
    const writer = failingWriter(failure);
    const stats = newStats();
    const journal = newJournal(writer, { stats });
    const outcomes = await Promise.allSettled([
      journal.commit(releases("one")),
      journal.commit(releases("two")),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(writer.batches).toEqual([["one", "two"]]);
    expect(stats.pendingItems).toBe(0);
    expect(journal.healthy).toBe(false);
    await journal.close();
  });

  test("by a refusal was rolled back, and is written commit by commit", async () => {
    const writer = failingWriter(new BatchFailure("rejected", "constraint failed"));
    const journal = newJournal(writer);
    await Promise.allSettled([journal.commit(releases("one")), journal.commit(releases("two"))]);
    expect(writer.batches).toEqual([["one", "two"], ["one"], ["two"]]);
    expect(journal.healthy).toBe(true);
    await journal.close();
  });
});

describe("a lock", () => {
  test("that lasts makes the store unhealthy, until it is gone", async () => {
    let isLocked = true;
    const writer: BatchWriter = {
      write() {
        if (isLocked) throw new BatchFailure("busy", "database is locked");
      },
    };
    const stats = newStats();
    const journal = newJournal(writer, { stats });
    const waiting = journal.commit([]);
    await waitFor(() => stats.failedBatches > 0, "the lock to be met");
    expect(journal.healthy).toBe(true);
    await waitFor(() => !journal.healthy, "the lock to last too long");
    expect(journal.problem?.reason).toContain("locked by another program");
    isLocked = false;
    await waiting;
    expect(journal.healthy).toBe(true);
    await journal.close();
  });
});

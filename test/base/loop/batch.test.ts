import { describe, expect, test } from "bun:test";
import { LoopBatch, nextLoopIteration } from "../../../src/base/loop/pacer.ts";

/** A batch of numbers, and which of them it handled in which turn. */
class Watched {
  readonly turns: number[][] = [];
  readonly #batch: LoopBatch<number>;
  #next = 0;

  constructor() {
    this.#batch = new LoopBatch<number>((item) => void this.turns.at(-1)?.push(item));
  }

  /** Offers so many items in one turn, and returns how many of them were batched. */
  async turn(items: number): Promise<number> {
    this.turns.push([]);
    let batched = 0;
    for (let offered = 0; offered < items; offered += 1) {
      const item = this.#next++;
      if (this.#batch.shouldAdd()) {
        this.#batch.add(item);
        batched += 1;
      } else {
        this.turns.at(-1)?.push(item);
      }
    }
    await nextLoopIteration();
    return batched;
  }

  async manyTurns(count: number, items: number): Promise<number> {
    let batched = 0;
    for (let turn = 0; turn < count; turn += 1) batched += await this.turn(items);
    return batched;
  }
}

describe("what arrives in one turn of the event loop", () => {
  test("is handled immediately while it comes alone, except for an occasional probe", async () => {
    const watched = new Watched();
    expect(await watched.manyTurns(63, 1)).toBe(0);
    expect(await watched.turn(1)).toBe(1);
    expect(await watched.manyTurns(63, 1)).toBe(0);
  });

  test("is batched once a crowd is found, and handled in order", async () => {
    const watched = new Watched();
    await watched.manyTurns(63, 1);
    expect(await watched.manyTurns(10, 5)).toBe(50);
    expect(watched.turns.flat()).toEqual(Array.from({ length: 113 }, (_, item) => item));
    expect(watched.turns.slice(63).map((items) => items.length)).toEqual(Array(10).fill(5));
  });

  test("is still batched through a few small turns, but not after the crowd has gone", async () => {
    const watched = new Watched();
    await watched.manyTurns(63, 1);
    await watched.manyTurns(10, 5);
    expect(await watched.manyTurns(4, 1)).toBe(4);
    await watched.manyTurns(20, 1);
    expect(await watched.manyTurns(20, 1)).toBe(0);
  });

  test("is handled at the end of the turn, however much it is", async () => {
    const watched = new Watched();
    await watched.manyTurns(63, 1);
    expect(await watched.turn(1500)).toBe(1500);
    expect(watched.turns.at(-1)).toHaveLength(1500);
  });

  test("is handled even if an earlier item throws", async () => {
    const module = new URL("../../../src/base/loop/pacer.ts", import.meta.url).pathname;
    const script = `
      import { LoopBatch } from ${JSON.stringify(module)};
      process.on("uncaughtException", (error) => console.log(error.message));
      const handled = new LoopBatch((item) => {
        if (item === 2) throw new Error("2 failed");
        console.log(item);
      });
      for (const item of [1, 2, 3, 4]) handled.add(item);`;
    const { stdout } = Bun.spawnSync([process.execPath, "-e", script]);
    expect(stdout.toString().trim().split("\n").toSorted()).toEqual(["1", "2 failed", "3", "4"]);
  });
});

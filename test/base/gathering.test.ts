import { describe, expect, test } from "bun:test";
import { Gathering } from "../../src/base/gathering.ts";
import { nextTurn } from "../../src/base/next-turn.ts";

/** A gathering of numbers, and which of them it handled in which turn. */
class Watched {
  readonly turns: number[][] = [];
  readonly #gathering = new Gathering<number>((item) => void this.turns.at(-1)?.push(item));
  #next = 0;

  /** Offers so many items in one turn, and returns how many of them were gathered. */
  async turn(items: number): Promise<number> {
    this.turns.push([]);
    let gathered = 0;
    for (let offered = 0; offered < items; offered += 1) {
      const item = this.#next++;
      if (this.#gathering.shouldAdd()) {
        this.#gathering.add(item);
        gathered += 1;
      } else {
        this.turns.at(-1)?.push(item);
      }
    }
    await nextTurn();
    return gathered;
  }

  async manyTurns(count: number, items: number): Promise<number> {
    let gathered = 0;
    for (let turn = 0; turn < count; turn += 1) gathered += await this.turn(items);
    return gathered;
  }
}

describe("what arrives in one turn of the event loop", () => {
  test("is handled at once while it comes alone, but for a look now and then", async () => {
    const watched = new Watched();
    expect(await watched.manyTurns(63, 1)).toBe(0);
    expect(await watched.turn(1)).toBe(1);
    expect(await watched.manyTurns(63, 1)).toBe(0);
  });

  test("is gathered once a look has found a crowd, and handled in its order", async () => {
    const watched = new Watched();
    await watched.manyTurns(63, 1);
    expect(await watched.manyTurns(10, 5)).toBe(50);
    expect(watched.turns.flat()).toEqual(Array.from({ length: 113 }, (_, item) => item));
    expect(watched.turns.slice(63).map((items) => items.length)).toEqual(Array(10).fill(5));
  });

  test("goes on being gathered through a few small turns, and no longer once the crowd has gone", async () => {
    const watched = new Watched();
    await watched.manyTurns(63, 1);
    await watched.manyTurns(10, 5);
    expect(await watched.manyTurns(4, 1)).toBe(4);
    await watched.manyTurns(20, 1);
    expect(await watched.manyTurns(20, 1)).toBe(0);
  });

  test("is handled in several turns if it is very much, so that others get theirs", async () => {
    const watched = new Watched();
    await watched.manyTurns(63, 1);
    expect(await watched.turn(150)).toBe(150);
    const handled = () => watched.turns.slice(63).flat().length;
    expect(handled()).toBe(64);
    await nextTurn();
    expect(handled()).toBe(128);
    await nextTurn();
    expect(handled()).toBe(150);
    expect(watched.turns.flat()).toEqual(Array.from({ length: 213 }, (_, item) => item));
  });

  test("is handled even if what came before it throws", async () => {
    const gathering = new URL("../../src/base/gathering.ts", import.meta.url).pathname;
    const script = `
      import { Gathering } from ${JSON.stringify(gathering)};
      process.on("uncaughtException", (error) => console.log(error.message));
      const handled = new Gathering((item) => {
        if (item === 2) throw new Error("2 failed");
        console.log(item);
      });
      for (const item of [1, 2, 3, 4]) handled.add(item);`;
    const { stdout } = Bun.spawnSync([process.execPath, "-e", script]);
    expect(stdout.toString().trim().split("\n").toSorted()).toEqual(["1", "2 failed", "3", "4"]);
  });
});

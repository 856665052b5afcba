import { afterEach, describe, expect, test } from "bun:test";
import { IdleCollector } from "../../src/observe/idle-collector.ts";

let collections = 0;
let inFlight = 0;
let collector: IdleCollector;

function begin(): void {
  collections = 0;
  inFlight = 0;
  const collect = () => {
    collections += 1;
  };
  collector = new IdleCollector({ isIdle: () => inFlight === 0, collect });
}

function end(exchanges: number): void {
  for (let ended = 0; ended < exchanges; ended += 1) collector.observe();
}

afterEach(() => collector.stop());

describe("garbage is collected", () => {
  test("once after a busy time, when nothing has ended since the last look", () => {
    begin();
    end(5000);
    collector.look();
    expect(collections).toBe(0);
    collector.look();
    collector.look();
    expect(collections).toBe(1);
  });

  test("not while requests come or are in flight", () => {
    begin();
    for (let second = 0; second < 5; second += 1) {
      end(1000);
      collector.look();
    }
    inFlight = 1;
    collector.look();
    collector.look();
    expect(collections).toBe(0);
    inFlight = 0;
    collector.look();
    expect(collections).toBe(1);
  });

  test("not for a few requests, until they have added up", () => {
    begin();
    for (const expected of [0, 0, 1, 0]) {
      collections = 0;
      end(400);
      collector.look();
      collector.look();
      expect(collections).toBe(expected);
    }
  });
});

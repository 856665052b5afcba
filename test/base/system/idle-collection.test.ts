import { expect, test } from "bun:test";
import { IdleCollection } from "../../../src/base/system/idle-collection.ts";

const megabyte = 1024 * 1024;

/** A gateway that has just started, with 75 MB; a collection leaves 130 MB. */
function setUp() {
  const activity = { isIdle: true, admitted: 0 };
  const state = { hasGateway: true, residentMegabytes: 75, collections: 0 };
  const collection = new IdleCollection(() => (state.hasGateway ? activity : null), {
    residentBytes: () => state.residentMegabytes * megabyte,
    collect() {
      state.collections += 1;
      state.residentMegabytes = 130;
    },
  });
  const look = (times: number) => {
    for (let look = 0; look < times; look += 1) collection.look();
    return state.collections;
  };
  const rush = () => {
    activity.admitted += 1000;
    state.residentMegabytes = 280;
  };
  return { activity, state, look, rush };
}

test("a gateway that has served nothing is left alone", () => {
  const { look } = setUp();
  expect(look(100)).toBe(0);
});

test("after a rush there is one collection, and not before it has been quiet for a second", () => {
  const { look, rush } = setUp();
  rush();
  // The first look sees that something has happened; the others are half a second apart.
  expect(look(2)).toBe(0);
  expect(look(1)).toBe(1);
  expect(look(100)).toBe(1);
  rush();
  expect(look(100)).toBe(2);
});

test("nothing is collected while a request is in flight, or while requests keep coming", () => {
  const { activity, look, rush } = setUp();
  rush();
  activity.isIdle = false;
  expect(look(100)).toBe(0);
  activity.isIdle = true;
  for (let request = 0; request < 100; request += 1) {
    activity.admitted += 1;
    look(2);
  }
  expect(look(0)).toBe(0);
});

test("a few requests after a rush are no reason for another collection", () => {
  const { activity, state, look, rush } = setUp();
  rush();
  look(3);
  activity.admitted += 10;
  state.residentMegabytes += 20;
  expect(look(100)).toBe(1);
});

test("memory that was returned late counts as returned", () => {
  const { activity, state, look, rush } = setUp();
  rush();
  look(3);
  state.residentMegabytes = 100;
  look(10);
  activity.admitted += 1000;
  state.residentMegabytes = 140;
  expect(look(100)).toBe(2);
});

test("while there is no gateway, nothing is collected", () => {
  const { state, look, rush } = setUp();
  rush();
  state.hasGateway = false;
  expect(look(100)).toBe(0);
});

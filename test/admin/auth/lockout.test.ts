import { expect, spyOn, test } from "bun:test";
import { accessError } from "../../../src/admin/access/access-error.ts";
import { Lockout } from "../../../src/admin/access/lockout.ts";
import { nextLoopIteration } from "../../../src/base/loop/pacer.ts";
import { FakeClock } from "../../support/clock.ts";

function fail(lockout: Lockout, address: string, times: number): void {
  for (let failure = 0; failure < times; failure += 1) lockout.failed(address);
}

test("failures from two addresses in turn lock both", () => {
  const lockout = new Lockout(new FakeClock());
  for (let failure = 0; failure < 5; failure += 1) {
    lockout.failed("a");
    lockout.failed("b");
  }
  expect([lockout.waitSeconds("a"), lockout.waitSeconds("b")]).toEqual([900, 900]);
});

test("four failures are forgiven, and a success forgets them", () => {
  const lockout = new Lockout(new FakeClock());
  fail(lockout, "a", 4);
  expect(lockout.waitSeconds("a")).toBe(0);
  lockout.succeeded("a");
  fail(lockout, "a", 4);
  expect(lockout.waitSeconds("a")).toBe(0);
});

test("a lock lasts as long as it said, also when the address tries on", () => {
  const clock = new FakeClock();
  const lockout = new Lockout(clock);
  fail(lockout, "a", 5);
  clock.advance(600_000);
  lockout.failed("a");
  expect(lockout.waitSeconds("a")).toBe(300);
  clock.advance(300_000);
  expect(lockout.waitSeconds("a")).toBe(0);
  fail(lockout, "a", 4);
  expect(lockout.waitSeconds("a")).toBe(0);
});

test("ten thousand addresses are remembered, the oldest is forgotten first", () => {
  const lockout = new Lockout(new FakeClock());
  fail(lockout, "first", 5);
  fail(lockout, "second", 5);
  for (let index = 0; index < 9_998; index += 1) lockout.failed(`other ${index}`);
  expect([lockout.waitSeconds("first"), lockout.waitSeconds("second")]).toEqual([900, 900]);
  lockout.failed("one more");
  expect([lockout.waitSeconds("first"), lockout.waitSeconds("second")]).toEqual([0, 900]);
});

test("a wrong token from a locked address is answered a second late, a hundred of them at most at once", async () => {
  const second = Promise.withResolvers<void>();
  const sleeping = spyOn(Bun, "sleep").mockImplementation(() => second.promise);
  try {
    const lockout = new Lockout(new FakeClock());
    const refused = {
      kind: "refused",
      status: 429,
      code: "locked_out",
      message: "wait",
      waitSeconds: 900,
    } as const;
    let answered = 0;
    const answering = Array.from({ length: 101 }, async () => {
      await accessError(lockout, refused);
      answered += 1;
    });
    await nextLoopIteration();
    expect(sleeping.mock.calls).toEqual(Array(100).fill([1000]));
    expect(answered).toBe(1);
    second.resolve();
    await Promise.all(answering);
    // Those that have been answered make room for others.
    await accessError(lockout, refused);
    expect(sleeping.mock.calls).toHaveLength(101);
    await accessError(lockout, { ...refused, status: 401, code: "invalid_credentials" });
    expect(sleeping.mock.calls).toHaveLength(101);
  } finally {
    sleeping.mockRestore();
  }
});

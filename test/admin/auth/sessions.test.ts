import { expect, test } from "bun:test";
import { Sessions } from "../../../src/admin/auth/sessions.ts";
import { FakeClock } from "../../support/clock.ts";

const admin = { kind: "admin" } as const;

function open(sessions: Sessions, ids: readonly string[]): Promise<readonly boolean[]> {
  return Promise.all(ids.map(async (id) => (await sessions.find(id)) !== null));
}

test("two sign-ins stay open side by side, and end one by one", async () => {
  const sessions = new Sessions(new FakeClock(), null, () => "token");
  const [one, other] = [await sessions.begin(admin), await sessions.begin(admin)];
  expect(await open(sessions, [one, other])).toEqual([true, true]);
  await sessions.end(one);
  expect(await open(sessions, [one, other])).toEqual([false, true]);
});

test("each lasts half a day from its own beginning", async () => {
  const clock = new FakeClock();
  const sessions = new Sessions(clock, null, () => "token");
  const early = await sessions.begin(admin);
  clock.advance(6 * 3_600_000);
  const late = await sessions.begin(admin);
  clock.advance(6 * 3_600_000 + 1);
  expect(await open(sessions, [early, late])).toEqual([false, true]);
});

test("a thousand are remembered, the oldest is ended first", async () => {
  const sessions = new Sessions(new FakeClock(), null, () => "token");
  const ids = await Promise.all(Array.from({ length: 1000 }, () => sessions.begin(admin)));
  expect((await open(sessions, ids)).every(Boolean)).toBe(true);
  await sessions.begin(admin);
  expect(await open(sessions, ids.slice(0, 3))).toEqual([false, true, true]);
});

test("one that was begun with another token is unknown, also where it was not ended", async () => {
  let token = "token";
  const sessions = new Sessions(new FakeClock(), null, () => token);
  const id = await sessions.begin(admin);
  token = "another";
  expect(await open(sessions, [id])).toEqual([false]);
  token = "token";
  expect(await open(sessions, [id])).toEqual([true]);
});

test("all end at once when the token is changed", async () => {
  const sessions = new Sessions(new FakeClock(), null, () => "token");
  const ids = [await sessions.begin(admin), await sessions.begin(admin)];
  await sessions.endAll();
  expect(await open(sessions, ids)).toEqual([false, false]);
});

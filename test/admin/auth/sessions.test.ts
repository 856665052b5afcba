import { expect, test } from "bun:test";
import { OwnSessions } from "../../../src/admin/auth/sessions.ts";
import { FakeClock } from "../../support/clock.ts";

test("two sign-ins stay open side by side, and end one by one", () => {
  const sessions = new OwnSessions(new FakeClock());
  const [one, other] = [sessions.begin(), sessions.begin()];
  expect([sessions.isOpen(one), sessions.isOpen(other)]).toEqual([true, true]);
  sessions.end(one);
  expect([sessions.isOpen(one), sessions.isOpen(other)]).toEqual([false, true]);
});

test("each lasts half a day from its own beginning", () => {
  const clock = new FakeClock();
  const sessions = new OwnSessions(clock);
  const early = sessions.begin();
  clock.advance(6 * 3_600_000);
  const late = sessions.begin();
  clock.advance(6 * 3_600_000 + 1);
  expect([sessions.isOpen(early), sessions.isOpen(late)]).toEqual([false, true]);
});

test("a thousand are remembered, the oldest is ended first", () => {
  const sessions = new OwnSessions(new FakeClock());
  const ids = Array.from({ length: 1000 }, () => sessions.begin());
  expect(ids.every((id) => sessions.isOpen(id))).toBe(true);
  sessions.begin();
  expect(ids.map((id) => sessions.isOpen(id)).slice(0, 3)).toEqual([false, true, true]);
});

test("all end at once when the token is changed", () => {
  const sessions = new OwnSessions(new FakeClock());
  const ids = [sessions.begin(), sessions.begin()];
  sessions.endAll();
  expect(ids.some((id) => sessions.isOpen(id))).toBe(false);
});

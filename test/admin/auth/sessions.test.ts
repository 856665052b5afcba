import { expect, test } from "bun:test";
import { OwnSessions } from "../../../src/admin/auth/sessions.ts";
import { FakeClock } from "../../support/clock.ts";

const admin = { kind: "admin" } as const;

function isOpen(sessions: OwnSessions, id: string): boolean {
  return sessions.find(id) !== null;
}

test("two sign-ins stay open side by side, and end one by one", () => {
  const sessions = new OwnSessions(new FakeClock());
  const [one, other] = [sessions.begin(admin), sessions.begin(admin)];
  expect([isOpen(sessions, one), isOpen(sessions, other)]).toEqual([true, true]);
  sessions.end(one);
  expect([isOpen(sessions, one), isOpen(sessions, other)]).toEqual([false, true]);
});

test("each lasts half a day from its own beginning", () => {
  const clock = new FakeClock();
  const sessions = new OwnSessions(clock);
  const early = sessions.begin(admin);
  clock.advance(6 * 3_600_000);
  const late = sessions.begin(admin);
  clock.advance(6 * 3_600_000 + 1);
  expect([isOpen(sessions, early), isOpen(sessions, late)]).toEqual([false, true]);
});

test("a thousand are remembered, the oldest is ended first", () => {
  const sessions = new OwnSessions(new FakeClock());
  const ids = Array.from({ length: 1000 }, () => sessions.begin(admin));
  expect(ids.every((id) => isOpen(sessions, id))).toBe(true);
  sessions.begin(admin);
  expect(ids.map((id) => isOpen(sessions, id)).slice(0, 3)).toEqual([false, true, true]);
});

test("all end at once when the token is changed", () => {
  const sessions = new OwnSessions(new FakeClock());
  const ids = [sessions.begin(admin), sessions.begin(admin)];
  sessions.endAll();
  expect(ids.some((id) => isOpen(sessions, id))).toBe(false);
});

import { expect, test } from "bun:test";
import { Sessions } from "../../../src/admin/access/sessions.ts";
import { testEachStore } from "../../store/each-store.ts";
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

testEachStore(
  "sessions are listed with their ends, ended by person, and logout tokens count once",
  async (database) => {
    const clock = new FakeClock();
    const store = await database.openGateway(clock);
    const sessions = new Sessions(clock, store.admin.sessions, () => "token");
    const person = (user: string) =>
      ({ kind: "person", issuer: "https://idp.example", user, groups: [] }) as const;
    const provider = { issuer: "https://idp.example", subject: "1", sid: null, signOutUrl: null };
    const adas = await sessions.begin(person("ada"), { provider, lengthMs: 60_000 });
    const bobs = await sessions.begin(person("bob"), { provider, lengthMs: 1_000 });
    const tokens = await sessions.begin(admin);
    const nowMs = clock.wallMs();
    const listed = (await sessions.list()).toSorted((one, other) => one.endsAtMs - other.endsAtMs);
    expect(listed).toEqual([
      { identity: person("bob"), provider, beganAtMs: nowMs, endsAtMs: nowMs + 1_000 },
      { identity: person("ada"), provider, beganAtMs: nowMs, endsAtMs: nowMs + 60_000 },
      { identity: admin, provider: null, beganAtMs: nowMs, endsAtMs: nowMs + 12 * 3_600_000 },
    ]);
    clock.advance(1_001);
    expect(await sessions.list()).toHaveLength(2);
    const isPerson = ({ identity }: { identity: { kind: string } }) => identity.kind === "person";
    expect((await sessions.endWhere(isPerson)).map(({ identity }) => identity)).toEqual([person("ada")]);
    expect(await open(sessions, [adas, bobs, tokens])).toEqual([false, false, true]);
    expect([await sessions.spend("one", 1_000), await sessions.spend("one", 1_000)]).toEqual([true, false]);
    expect(await sessions.spend("other", 1_000)).toBe(true);
    clock.advance(1_001);
    expect(await sessions.spend("one", 1_000)).toBe(true);
    await store.close();
  },
);

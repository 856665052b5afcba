import { expect, test } from "bun:test";
import { join } from "node:path";
import type { CapDetailView, ListedCapView, NearValueView } from "../../src/admin/caps/schema.ts";
import { systemClock } from "../../src/base/clock.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { openStore } from "../../src/store/open.ts";
import { settleItem } from "../store/fixtures.ts";
import { type KeyJson, newPlace, sluice, sluiceJson } from "./fixtures.ts";

test("values near a limit are listed of all caps, or of those that count each value of a label", async () => {
  const place = newPlace();
  const { id } = await sluiceJson<KeyJson>(place, "keys", "create", "--mode", "credit", "--credit", "50");
  const dir = join(place.folder, "sluice-data");
  const store = await openStore({ dir, clock: systemClock, role: "gateway" });
  const spent = (labels: Record<string, string>, credits: number) => {
    const now = Date.now();
    const times = { atMs: now, countedAtMs: now, labels: JSON.stringify(labels) };
    return settleItem(id, credits * nanoPerCredit, times);
  };
  await store.commit([spent({ owner: "ada", user: "u1" }, 9), spent({ owner: "ben", user: "u2" }, 2)]);
  await store.close();
  const add = (...words: string[]) => sluiceJson<CapDetailView>(place, "caps", "add", "10/month", ...words);
  const [owners, users] = [await add("--each", "owner"), await add("--each", "user", "--optional")];
  const near = async (...words: string[]) => {
    const values = await sluiceJson<NearValueView[]>(place, "caps", "list", "--near", "80%", ...words);
    return values.map(({ cap, value }) => [cap, value]);
  };
  expect((await near()).toSorted()).toEqual(
    [
      [owners.id, "ada"],
      [users.id, "u1"],
    ].toSorted(),
  );
  expect(await near("--each", "user")).toEqual([[users.id, "u1"]]);
  // Ada's own cap holds in place of the one for each.
  const own = await sluiceJson<CapDetailView>(place, "caps", "add", "90/month", "--owner", "ada");
  expect(await near("--each", "owner")).toEqual([]);
  await sluiceJson(place, "caps", "raise", own.id, "10", "--note", "release week");
  // The caps of keys and accounts are in the list, too.
  await sluiceJson(place, "keys", "update", id, "--cap", "12/month");
  expect(await near()).toEqual([
    [null, null],
    [users.id, "u1"],
  ]);
  const listed = await sluiceJson<ListedCapView[]>(place, "caps", "list");
  expect(
    listed.map(({ id: cap, limit, used, counted, raised_by }) => [cap, limit, used, counted, raised_by]),
  ).toEqual([
    [owners.id, 10, null, 2, 0],
    [users.id, 10, null, 2, 0],
    [own.id, 90, 9, 1, 10],
    [null, 12, 11, 0, 0],
  ]);
  expect(listed.at(-1)).toMatchObject({ key: id, account: null, each: null, period: "month" });
  const { stdout } = await sluice(place, "caps", "list");
  expect(stdout).toMatch(/ 12\/month +everything +key_\w+ +11\n/);
  expect(await near("--each", "tag:project")).toEqual([]);
});

test("keys show and accounts show have the caps by value, with what the key's own value has used", async () => {
  const place = newPlace();
  const account = await sluiceJson<{ id: string }>(
    place,
    ..."accounts create --mode credit --credit 50 --label atlas".split(" "),
  );
  const { prefix } = await sluiceJson<KeyJson>(
    place,
    ..."keys create --account atlas --owner Ada@example.com".split(" "),
  );
  const add = (...words: string[]) => sluiceJson<CapDetailView>(place, "caps", "add", ...words);
  await add("20/day:demo-*", "--each", "owner");
  const user = await add("0.5/day", "--each", "user", "--account", "atlas");
  const shown = async (...words: string[]) => (await sluice(place, ...words)).stdout.replace(/ +/g, " ");
  const ofKey = await shown("keys", "show", prefix);
  expect(ofKey).toContain("cap by value 0.00 of 20.00 credits per day for demo-* by owner ada@example.com");
  expect(ofKey).toContain("cap by value 0.50 credits per day by each user");
  expect(await shown("accounts", "show", "atlas")).toContain(
    "cap by value 0.50 credits per day by each user",
  );
  expect(await sluiceJson(place, "accounts", "show", account.id)).toMatchObject({
    value_caps: [{ cap: user.id, label: "user", value: null, used: null, limit: 0.5 }],
  });
});

test("a changed limit keeps the cap's models, `*` means all of them, and a raise is shown", async () => {
  const place = newPlace();
  await sluiceJson<KeyJson>(place, "keys", "create", "--mode", "credit", "--credit", "5");
  const cap = await sluiceJson<CapDetailView>(place, "caps", "add", "40/month:demo-*", "--each", "owner");
  const update = (limit: string) =>
    sluiceJson<CapDetailView>(place, "caps", "update", cap.id, "--limit", limit);
  expect(await update("60/week")).toMatchObject({ limit: 60, period: "week", models: "demo-*" });
  expect(await update("60/week:*")).toMatchObject({ models: null });
  const raise = ["caps", "raise", cap.id, "5", "--note", "release week"];
  expect((await sluice(place, ...raise)).stdout).toMatch(/^limit +60\/week, in credits, raised by 5$/m);
  const { stdout } = await sluice(place, ...raise, "--value", "ada");
  expect(stdout).toMatch(/ada +0 +70, raised by 5 +70/);
  const own = await sluiceJson<CapDetailView>(place, "caps", "add", "90/week", "--owner", "ada");
  expect(own.notes.join()).not.toContain("without an owner");
  expect((await sluiceJson<CapDetailView>(place, "caps", "show", cap.id)).notes).toContain(
    "It does not apply to 1 key without an owner. Set one with `sluice keys update KEY --owner NAME`.",
  );
});

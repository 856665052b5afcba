import { expect, test } from "bun:test";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { DiskReserve } from "../../../src/store/sqlite/files/reserve.ts";
import { waitFor } from "../../support/wait.ts";
import { temporaryFolder } from "../fixtures.ts";

test("a reserve is spent once, and made again when there is room", async () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.reserve");
  const reserve = new DiskReserve(file);
  reserve.fill();
  reserve.fill();
  expect(reserve.isSpent).toBe(false);
  expect(reserve.spend()).toBe(true);
  expect(reserve.spend()).toBe(false);
  expect(existsSync(file)).toBe(false);
  await waitFor(() => !reserve.isSpent, "the reserve to be filled again");
  expect(existsSync(file)).toBe(true);
  reserve.close();
});

test("a reserve for which there is no room counts as spent, and takes none", () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.reserve");
  const reserve = new DiskReserve(file, 2 ** 60);
  reserve.fill();
  expect(reserve.isSpent).toBe(true);
  expect(existsSync(file)).toBe(false);
  reserve.close();
});

test("a reserve that cannot be written counts as spent", () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.reserve");
  symlinkSync(join(folder.dir, "nowhere", "file"), file);
  const reserve = new DiskReserve(file);
  reserve.fill();
  expect(reserve.isSpent).toBe(true);
  reserve.close();
});

test("a reserve whose folder is gone stays spent, and disturbs nobody", () => {
  using folder = temporaryFolder();
  const reserve = new DiskReserve(join(folder.dir, "gone", "sluice.reserve"));
  expect(() => reserve.fill()).not.toThrow();
  expect(reserve.isSpent).toBe(true);
  reserve.close();
});

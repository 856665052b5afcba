import { expect, test } from "bun:test";
import { failureReason } from "../../../src/store/sqlite/problems.ts";

test.each([
  ["SQLITE_FULL", "full"],
  ["SQLITE_IOERR_WRITE", "full"],
  ["SQLITE_BUSY_SNAPSHOT", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_PROTOCOL", "busy"],
  ["SQLITE_NOMEM", "busy"],
  ["SQLITE_CORRUPT_INDEX", "damaged"],
  ["SQLITE_NOTADB", "damaged"],
  ["SQLITE_CONSTRAINT_PRIMARYKEY", "rejected"],
  ["", "rejected"],
] as const)("a batch that fails with '%s' is %s", (code, reason) => {
  expect(failureReason(code)).toBe(reason);
});

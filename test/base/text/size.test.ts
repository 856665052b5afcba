import { expect, test } from "bun:test";
import { size } from "../../../src/base/text/size.ts";

test("sizes are written in the unit that they are read in", () => {
  const kib = 1024;
  expect([0, 100, 4 * kib, 1.5 * kib ** 2, 340 * kib ** 2, 7.25 * kib ** 3, kib ** 4].map(size)).toEqual([
    "0 KiB",
    "0.1 KiB",
    "4 KiB",
    "1.5 MiB",
    "340 MiB",
    "7.3 GiB",
    "1 TiB",
  ]);
});

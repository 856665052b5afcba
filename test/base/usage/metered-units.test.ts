import { expect, test } from "bun:test";
import { unitsOf } from "../../../src/base/money/rates.ts";

test("units are those of the first kind in the table of which something was used, of all sizes together", () => {
  expect(unitsOf({ input: 5, output: 7, web_search: 1 })).toBeNull();
  expect(unitsOf({ input: 5, requests: 1, "images.high/1024x1024": 2, images: 1 })).toEqual({
    kind: "images",
    amount: 3,
  });
  expect(unitsOf({ images: 0, requests: 1 })).toEqual({ kind: "requests", amount: 1 });
  expect(unitsOf({ images: 0 })).toBeNull();
});

import { describe, expect, test } from "bun:test";
import { countValues } from "../../../src/dialects/json/json-bytes.ts";

const count = (text: string, enough = 1) => countValues(Buffer.from(text), enough);

describe("items and members are counted", () => {
  test.each([
    ["[1,2,3]", 3],
    ["[ ]", 0],
    ["[[],[ ],{}]", 3],
    ['{"a":1,"b":{"c":[true]}}', 4],
    ['{"a,b":"[,{,"}', 1],
    ['["\\",","\\\\",1]', 3],
    ['[ "x" , \n { "y" : 1 } ]', 3],
  ])("%s", (text, values) => {
    // Padded, because what is too short to have enough is not looked at.
    expect(countValues(Buffer.from(text.padEnd(200)), 99)).toBe(values);
  });

  test("up to as many as matter", () => {
    expect(count(`[${"1,".repeat(1000)}1]`, 10)).toBe(11);
  });

  test("not at all where there cannot be enough", () => {
    expect(count("[1,2,3,4,5,6,7,8,9]", 100)).toBe(0);
    expect(count(`[${"1,".repeat(99)}1]`, 99)).toBe(100);
  });

  test("also in what is no JSON", () => {
    expect(count('["', 1)).toBe(1);
    expect(count(`${"[".repeat(100)}`, 50)).toBe(51);
  });
});

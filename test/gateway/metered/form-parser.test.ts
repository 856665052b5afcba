import { afterAll, expect, spyOn, test } from "bun:test";
import { FormParser, type PartTaker } from "../../../src/gateway/metered/form/form-parser.ts";

const { concat } = Buffer;
let copiedBytes = 0;
const joining = spyOn(Buffer, "concat").mockImplementation((pieces) => {
  const joined = concat(pieces);
  copiedBytes += joined.length;
  return joined;
});
afterAll(() => joining.mockRestore());

const field = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n';
const ignoring: PartTaker = { begin: async () => {}, take: async () => {}, end: async () => {} };

/** Pushes all of them; returns how many bytes were copied for it. */
async function copiedFor(...pieces: readonly string[]): Promise<number> {
  copiedBytes = 0;
  const parser = new FormParser("b", ignoring);
  for (const piece of pieces) await parser.push(Buffer.from(piece));
  parser.end();
  return copiedBytes;
}

const filler = Array.from({ length: 64 }, () => "\r\n--a".repeat(4000));
const fillerBytes = filler.join("").length;

test.each([
  ["before its first boundary", ["x", ...filler, `\r\n${field}x\r\n--b--\r\n`]],
  ["in a part", [field, ...filler, "\r\n--b--\r\n"]],
  ["behind its last boundary", [`${field}x\r\n--b--`, ...filler]],
])("a form that is long %s is copied once, however many pieces it comes in", async (_, pieces) => {
  expect(await copiedFor(...pieces)).toBeLessThan(fillerBytes * 1.1);
});

test.each([
  ["a boundary's line", `--b${" ".repeat(20_000)}\r\n${field.slice(5)}`],
  ["a part's head", `--b\r\nx: ${"y".repeat(20_000)}\r\n${field.slice(5)}`],
])("%s that is too long is refused, in one piece or in many", async (_, start) => {
  const form = `${start}x\r\n--b--\r\n`;
  const pieces = form.match(/.{1,1000}/gs) ?? [];
  await expect(copiedFor(form)).rejects.toThrow("The header of a form part is too long");
  await expect(copiedFor(...pieces)).rejects.toThrow("The header of a form part is too long");
});

test("a form may end with its last boundary, and without an end of line", async () => {
  const form = `${field}x\r\n--b--`;
  expect(await copiedFor(form)).toBeGreaterThan(0);
  expect(await copiedFor(form.slice(0, -1), "-")).toBeGreaterThan(0);
  await expect(copiedFor(form.slice(0, -1))).rejects.toThrow("ends before its closing boundary");
});

test("pieces of many forms that come at once are read in many turns of the event loop", async () => {
  let turn = 0;
  let isOver = false;
  const countTurns = () => {
    turn += 1;
    if (!isOver) setImmediate(countTurns);
  };
  const turns = new Set<number>();
  const slow: PartTaker = {
    ...ignoring,
    async take() {
      turns.add(turn);
      // More than forms have of a turn.
      for (const endMs = performance.now() + 3; performance.now() < endMs; );
    },
  };
  const forms = Array.from({ length: 8 }, () => new FormParser("b", slow));
  for (const form of forms) await form.push(Buffer.from(field));
  countTurns();
  await Promise.all(forms.map((form) => form.push(Buffer.from("x".repeat(100)))));
  isOver = true;
  expect(turns.size).toBe(forms.length);
});

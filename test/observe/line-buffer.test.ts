import { afterEach, expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { LineBuffer } from "../../src/observe/line-buffer.ts";
import { newFolder } from "../support/new-folder.ts";

const folder = newFolder();
const file = join(folder, "log");
const descriptor = openSync(file, "a");

afterEach(() => {
  closeSync(descriptor);
  rmSync(folder, { recursive: true });
});

test("every line arrives whole and in order, whatever its length and letters", () => {
  const buffer = new LineBuffer(descriptor);
  const lines = Array.from({ length: 400 }, (_, place) => {
    const text = place % 50 === 0 ? "größer 語 🙂".repeat(1 + place * 40) : "plain text ".repeat(10);
    return `${place} ${text}\n`;
  });
  for (const line of lines) buffer.write(line);
  buffer.flush();
  expect(readFileSync(file, "utf8")).toBe(lines.join(""));
});

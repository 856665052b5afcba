import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";

/** Everything in the interface that has a number, a rule or a code of its own; each needs a test. */
const numbered = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);

const statements = [
  "1",
  ...numbered("1 rule ", 6),
  ...numbered("2.", 12),
  "3",
  "4",
  ...numbered("4.", 8),
  "5",
  ...numbered("5 rule ", 10),
  ...numbered("6.1.", 10),
  ...numbered("6.2.", 4),
  "6.3",
  "7.1",
  ...[
    "invalid_credentials",
    "key_expired",
    "key_disabled",
    "rate_limit_exceeded",
    "balance_temporarily_reserved",
    "limit_reached",
    "insufficient_credit",
    "invalid_request",
    "model_not_found",
    "context_length_exceeded",
    "provider_unavailable",
    "upstream_error",
    "upstream_timeout",
    "internal_error",
    "409",
    "503",
  ].map((code) => `7.2 ${code}`),
  "7.3",
  "8",
  "9",
];

const root = new URL("../..", import.meta.url).pathname;
const text = readFileSync(join(root, "test/conformance/README.md"), "utf8");

/** Rows of the document: `| section | test | file |`. */
const listed = [...text.matchAll(/^\| ([^|]+) \| ([^|]+) \| `([^`]+)` \|$/gm)].map(
  ([, section = "", name = "", file = ""]) => ({
    section,
    name,
    file,
  }),
);

const existing = [...new Glob("test/conformance/*.test.ts").scanSync(root)].flatMap((file) => {
  const source = readFileSync(join(root, file), "utf8");
  return [...source.matchAll(/\btest\(\s*"(\d[^"]*)"/g)].map(([, name = ""]) => ({
    file,
    name,
  }));
});

const inOneLine = ({ file, name }: { file: string; name: string }) => `${file}: ${name}`;

describe("test/conformance/README.md", () => {
  test("lists only tests that exist", () => {
    const known = new Set(existing.map(inOneLine));
    expect(listed.length).toBeGreaterThan(50);
    expect(listed.map(inOneLine).filter((row) => !known.has(row))).toEqual([]);
  });

  test("lists every conformance test", () => {
    const rows = new Set(listed.map(inOneLine));
    expect(existing.map(inOneLine).filter((row) => !rows.has(row))).toEqual([]);
  });

  test("has a test for every statement of the interface", () => {
    const covered = new Set(listed.flatMap(({ section }) => section.split(", ")));
    expect(statements.filter((statement) => !covered.has(statement))).toEqual([]);
  });
});

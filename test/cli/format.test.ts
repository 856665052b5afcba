import { describe, expect, test } from "bun:test";
import { creditsFromNano } from "../../src/base/money/money.ts";
import { count, plural, unitsText } from "../../src/base/text/plural.ts";
import { facts, table } from "../../src/cli/terminal/list.ts";
import { startProgress } from "../../src/cli/terminal/progress.ts";
import { coloured, plain, styleFor } from "../../src/cli/terminal/style.ts";
import { credits, creditsShown, fromNow, span } from "../../src/cli/terminal/terminal.ts";

describe("figures for people", () => {
  test("credits are exact, with two decimals at least", () => {
    expect([0, 1, 5e9, 1_250_000_000, 1_234_567_890_123_456, -500_000_000].map(credits)).toEqual([
      "0.00",
      "0.000000001",
      "5.00",
      "1.25",
      "1,234,567.890123456",
      "-0.50",
    ]);
  });

  test("prices read as vendors write them", () => {
    expect([0.15, 10, 0.0375, 1.5625].map(creditsShown)).toEqual(["0.15", "10.00", "0.0375", "1.5625"]);
  });

  test("what is metered has names for people", () => {
    expect(unitsText({ kind: "images", amount: 1 })).toBe("1 image");
    expect(unitsText({ kind: "minutes", amount: 0.3512 })).toBe("0.3512 minutes");
    expect(unitsText({ kind: "search_units", amount: 20_000 })).toBe("20,000 search units");
  });

  test("counts, spans and distances", () => {
    expect([0, 999, 1000, 1_000_000].map(count)).toEqual(["0", "999", "1,000", "1,000,000"]);
    expect([0.0625, 1000.0625].map(count)).toEqual(["0.0625", "1,000.0625"]);
    expect([0, 1, 1000].map((value) => plural(value, "call"))).toEqual(["0 calls", "1 call", "1,000 calls"]);
    expect([3, 999, 1000, 61_500].map(span)).toEqual(["3 ms", "999 ms", "1.0 s", "61.5 s"]);
    const day = 86_400_000;
    expect(fromNow(30 * day - 5, 0)).toBe("in 30 days");
    expect(fromNow(0, day)).toBe("1 day ago");
    expect(fromNow(0, 2 * 3_600_000)).toBe("2 hours ago");
    expect(fromNow(1000, 0)).toBe("in less than a minute");
    expect(fromNow(0, 1000)).toBe("just now");
  });
});

describe("tables", () => {
  const columns = [
    { title: "NAME", elastic: true },
    { title: "N", align: "right" },
  ] as const;

  test("align by what is seen, not by colour codes or code units", () => {
    const rows = [
      [coloured.good("a"), "1"],
      ["日本", "1,000"],
    ];
    const lines = table(columns, rows, { style: plain, columns: null }).split("\n");
    expect(lines.map((line) => Bun.stringWidth(line))).toEqual([11, 11, 11]);
    expect(Bun.stripANSI(lines[1] ?? "")).toBe("a         1");
  });

  test("cut only what may be cut, and only where the terminal is too narrow", () => {
    const rows = [["a-very-long-name-indeed", "1,000,000"]];
    expect(table(columns, rows, { style: plain, columns: 80 })).toContain("a-very-long-name-indeed");
    expect(table(columns, rows, { style: plain, columns: 24 })).toContain("a-very-long-…  1,000,000");
  });

  test("tell rows apart where the terminal is so narrow that lines wrap anyway", () => {
    const rows = [["a-very-long-name-indeed", "9".repeat(20)]];
    expect(table(columns, rows, { style: plain, columns: 24 })).toContain("a-very-long-name-indeed");
    expect(table(columns, [["a".repeat(99), "9".repeat(20)]], { style: plain, columns: 24 })).toContain(
      `${"a".repeat(31)}…  9`,
    );
  });

  test("facts stand name by name", () => {
    expect(
      facts(
        [
          ["id", "1"],
          ["label", "x"],
        ],
        { style: plain },
      ),
    ).toBe("id     1\nlabel  x");
  });
});

describe("colours", () => {
  test("only on a terminal, and never against NO_COLOR or on a dumb one", () => {
    expect(styleFor(true, {})).toBe(coloured);
    expect(styleFor(false, {})).toBe(plain);
    expect(styleFor(true, { NO_COLOR: "1" })).toBe(plain);
    expect(styleFor(true, { NO_COLOR: "" })).toBe(coloured);
    expect(styleFor(true, { TERM: "dumb" })).toBe(plain);
  });
});

describe("progress", () => {
  function watched(noteColumns: number | null) {
    const drawn: string[] = [];
    const clock = { ms: 0 };
    const progress = startProgress(
      { noteColumns, noteStyle: plain },
      (text) => drawn.push(text),
      () => clock.ms,
    );
    return { drawn, clock, progress };
  }

  test("says nothing about quick work, and nothing at all outside a terminal", () => {
    for (const { drawn, progress } of [watched(80), watched(null)]) {
      progress.show("1 KiB");
      progress.end();
      expect(drawn).toEqual([]);
    }
  });

  test("draws over itself after a second, a few times a second, and goes when it is done", () => {
    const { drawn, clock, progress } = watched(80);
    for (clock.ms = 0; clock.ms <= 1150; clock.ms += 50) progress.show(`${clock.ms}`);
    progress.end();
    expect(drawn).toEqual(["\r\u001b[K⠋ 1000", "\r\u001b[K⠙ 1100", "\r\u001b[K"]);
  });
});

test("credits are shown to the last nano-credit, up to the highest balance", () => {
  for (const nano of [0, 1, 250_000_000, 3_999_999_999_999_999, 4_000_000_000_000_000, -1]) {
    expect(creditsShown(creditsFromNano(nano))).toBe(credits(nano));
  }
});

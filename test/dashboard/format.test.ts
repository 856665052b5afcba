import { afterAll, beforeAll, describe, expect, test } from "bun:test";

/** Where midnight in UTC is the afternoon of the day before. */
const west = "America/Los_Angeles";

describe("times on the page, read west of Greenwich,", () => {
  const before = process.env["TZ"];
  let format: typeof import("../../src/dashboard/page/format.ts");

  beforeAll(async () => {
    process.env["TZ"] = west;
    const { otherZone, zone } = await import("../../src/dashboard/page/zone.ts");
    expect(zone.value, "without a choice").toBe("local");
    otherZone();
    // By another name, because it takes its zone when it is loaded, and another file may have loaded it.
    format = await import(`${import.meta.dir}/../../src/dashboard/page/format.ts?west`);
  });

  afterAll(async () => {
    const { otherZone } = await import("../../src/dashboard/page/zone.ts");
    otherZone();
    if (before === undefined) delete process.env["TZ"];
    else process.env["TZ"] = before;
  });

  test("are in UTC if they choose so, like the days that they stand for", () => {
    expect(new Date(Date.UTC(2026, 10, 15)).getDate()).toBe(14);
    expect(format.axisTime(Date.UTC(2026, 10, 15))).toBe("15 Nov");
    expect(format.axisTime(Date.UTC(2026, 10, 15, 6))).toBe("06:00");
    expect(format.date("2026-11-15")).toBe("15 Nov 2026");
    expect(format.time("2026-11-15T06:07:08Z")).toBe("06:07:08");
    expect(format.moment("2020-11-15T06:07:08Z")).toBe("15 Nov, 06:07:08");
  });

  test("name their zone where they stand for a range or a point of a chart", () => {
    expect(format.zonedMinute(Date.UTC(2026, 10, 15, 6, 30))).toBe("15 Nov, 06:30 UTC");
    expect(format.timeRange("2026-11-15T13:28:00Z", "2026-11-16T13:28:00Z")).toBe(
      "15 Nov, 13:28 to 16 Nov, 13:28 UTC",
    );
  });

  test("are the person's own without a choice, and days stay in UTC", async () => {
    const { otherZone } = await import("../../src/dashboard/page/zone.ts");
    otherZone();
    expect(format.time("2026-11-15T06:07:08Z")).toBe("22:07:08");
    expect(format.moment("2020-11-15T06:07:08Z")).toBe("14 Nov, 22:07:08");
    expect(format.zonedMinute(Date.UTC(2026, 10, 15, 6, 30))).toBe("14 Nov, 22:30 GMT-8");
    expect(format.date("2026-11-15")).toBe("15 Nov 2026");
    otherZone();
    expect(format.time("2026-11-15T06:07:08Z")).toBe("06:07:08");
  });
});

test("what was metered is tokens, or else what it is charged by", async () => {
  const { metered } = await import("../../src/dashboard/page/format.ts");
  expect(metered(12_000, 34, { kind: "images", amount: 1 })).toBe("12K → 34");
  expect(metered(0, 0)).toBe("–");
  const units = [
    { kind: "images", amount: 1 },
    { kind: "minutes", amount: 0.35 },
    { kind: "search_units", amount: 20_000 },
  ];
  expect(units.map((each) => metered(0, 0, each))).toEqual(["1 image", "0.35 minutes", "20K search units"]);
});

test("marks of an axis have no more digits than they need, and are never written with an exponent", async () => {
  const { axisDuration, axisNumber } = await import("../../src/dashboard/page/format.ts");
  expect([0.0002, 0.2 + 0.1, 2, 400, 2500, 1e6, 2e-8].map(axisNumber)).toEqual([
    "0.0002",
    "0.3",
    "2",
    "400",
    "2,500",
    "1M",
    "0.00000002",
  ]);
  expect([5, 500, 1000, 2500, 15_000].map(axisDuration)).toEqual(["5 ms", "500 ms", "1 s", "2.5 s", "15 s"]);
});

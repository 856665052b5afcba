import { expect, test } from "bun:test";
import { ValueCaps } from "../../src/ledger/value-caps.ts";
import type { ValueCapRecord } from "../../src/store/store.ts";

const day = Date.UTC(2026, 10, 16);
const maxValues = 10;

function capsOf(more: Partial<ValueCapRecord> = {}): ValueCaps {
  const record: ValueCapRecord = {
    ...{ no: 1, id: "cap_1", keyId: null, accountId: null, mode: "credit", label: "user", value: null },
    ...{ limit: 100, period: "day", models: null, extra: 0, extraPeriodMs: 0 },
    ...{ isOptional: false, maxValues, thenModel: null, thenAlways: false },
    ...more,
  };
  const caps = new ValueCaps();
  caps.set([record], []);
  return caps;
}

function item(labels: Readonly<Record<string, string>>) {
  return { keyId: "key_1", accountId: "acc_1", model: "m", labels: JSON.stringify({ owner: "", ...labels }) };
}

function counterOf(caps: ValueCaps, user: string, nowMs = day) {
  const [counter] = caps.capsFor(item({ user }), "credit");
  if (counter === undefined) throw new Error("no cap counts it");
  counter.advance(nowMs);
  return counter;
}

test("a cap remembers no more than twice as many values as it counts, however many were held and released", () => {
  const caps = capsOf();
  const hold = { amount: 5, periodStartMs: 0, countedAtMs: day };
  counterOf(caps, "spent").charge(7, day);
  counterOf(caps, "open").reserve(hold);
  for (let n = 0; n < 20 * maxValues; n += 1) {
    const counter = counterOf(caps, `u${n}`);
    counter.reserve(hold);
    counter.release(hold);
  }
  expect(caps.find(1)?.counters.size).toBeLessThanOrEqual(2 * maxValues + 1);
  expect(counterOf(caps, "spent").state()).toMatchObject({ used: 7, held: 0 });
  expect(counterOf(caps, "open").state()).toMatchObject({ used: 0, held: 5 });
});

test("a clock that is set back grants a value nothing that was forgotten", () => {
  const caps = capsOf();
  counterOf(caps, "ada").charge(100, day);
  const tomorrow = day + 24 * 3_600_000;
  for (let n = 0; n < 3 * maxValues; n += 1) counterOf(caps, `u${n}`, tomorrow).charge(1, tomorrow);
  expect(caps.find(1)?.counters.has("ada")).toBe(false);
  expect(counterOf(caps, "ada").state(day)).toMatchObject({ resetsAtMs: tomorrow + 24 * 3_600_000 });
});

test.each(["constructor", "toString", "__proto__"])(
  "the tag %s counts only where a request has it",
  (name) => {
    const label = `tag:${name}`;
    const each = capsOf({ label });
    expect(each.missingLabel(item({}), "credit")).toBe(label);
    expect(each.capsFor(item({}), "credit")).toEqual([]);
    const one = capsOf({ label, value: "x" });
    expect(one.capsFor(item({}), "credit")).toEqual([]);
    expect(one.capsFor(item({ [label]: "x" }), "credit")).toHaveLength(1);
    const counted = each.capsFor(item({ [label]: "x" }), "credit");
    expect(counted.map((cap) => cap.state().value)).toEqual(["x"]);
  },
);

import { describe, expect, test } from "bun:test";
import { type KeyJson, newPlace, type Place, sluice, sluiceJson } from "./fixtures.ts";

interface Entry {
  readonly kind: string;
  readonly amount: number;
  readonly note: string | null;
}

async function keyWith(credit: string): Promise<{ place: Place; prefix: string }> {
  const place = newPlace();
  const { prefix } = await sluiceJson<KeyJson>(
    place,
    "keys",
    "create",
    "--mode",
    "credit",
    "--credit",
    credit,
  );
  return { place, prefix };
}

async function entries(place: Place): Promise<Entry[]> {
  const { stdout } = await sluice(place, "ledger", "export", "--format", "jsonl");
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Entry);
}

describe("keys adjust", () => {
  test("lowers and raises the balance by entries of their own, and the books still agree", async () => {
    const { place, prefix } = await keyWith("5");
    const lowered = await sluice(place, "keys", "adjust", prefix, "-2.5", "--note", "entered twice");
    expect(lowered.code).toBe(0);
    expect(lowered.stdout).toContain(`${prefix}: -2.50 credits; the balance is 2.50 credits`);
    const raised = await sluiceJson<KeyJson>(place, "keys", "adjust", prefix, "+1", "--note", "refund");
    expect(raised.credit).toEqual({ purchased: 3.5, used: 0, balance: 3.5 });
    expect((await entries(place)).map(({ kind, note }) => [kind, note])).toEqual([
      ["topup", "opening credit"],
      ["adjustment", "entered twice"],
      ["adjustment", "refund"],
    ]);
    expect((await sluice(place, "ledger", "audit")).code).toBe(0);
  });

  test("takes all that is there, and refuses the next nano-credit", async () => {
    const { place, prefix } = await keyWith("1");
    expect((await sluice(place, "keys", "adjust", prefix, "-1", "--note", "over")).code).toBe(0);
    const { code, stderr } = await sluice(place, "keys", "adjust", prefix, "-0.000000001", "--note", "more");
    expect(code).toBe(1);
    expect(stderr).toContain(`${prefix} has only 0 credits`);
    expect(await entries(place)).toHaveLength(2);
  });

  test("once per reference", async () => {
    const { place, prefix } = await keyWith("5");
    const once = () =>
      sluiceJson<KeyJson & { repeated: boolean }>(
        place,
        ...["keys", "adjust", prefix, "-3", "--note", "n", "--reference", "ticket 7"],
      );
    expect((await once()).repeated).toBe(false);
    // What is left would not do for another.
    const again = await once();
    expect(again.repeated).toBe(true);
    expect(again.credit?.balance).toBe(2);
  });

  const misused: [why: string, args: string[], said: string][] = [
    ["without a note", ["-1"], "--note"],
    ["with an empty note", ["-1", "--note", " "], "needs a note"],
    ["by nothing", ["0", "--note", "n"], "must not be 0"],
    ["by a comma", ["-2,5", "--note", "n"], "Use a decimal point"],
    ["by a word", ["-five", "--note", "n"], "Use credits such as 5"],
  ];
  for (const [why, args, said] of misused) {
    test(`${why} is refused, and changes nothing`, async () => {
      const { place, prefix } = await keyWith("5");
      const { code, stderr } = await sluice(place, "keys", "adjust", prefix, ...args);
      expect(code).toBeGreaterThan(0);
      expect(stderr).toContain(said);
      expect(await entries(place)).toHaveLength(1);
    });
  }

  test("has nothing to do on a token-budget key", async () => {
    const place = newPlace();
    const { prefix } = await sluiceJson<KeyJson>(place, "keys", "create", "--mode", "token_budget");
    const { code, stderr } = await sluice(place, "keys", "adjust", prefix, "-1", "--note", "n");
    expect(code).toBe(1);
    expect(stderr).toContain("is a token-budget key: change its budget with an update instead");
  });
});

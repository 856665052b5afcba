import { expect, test } from "bun:test";
import { ReadLimits } from "../../../src/admin/access/read-limits.ts";
import { FakeClock } from "../../support/clock.ts";

const running = new AbortController().signal;

test("a caller gets 30 reports a minute, whatever others ask for", async () => {
  const clock = new FakeClock();
  const limits = new ReadLimits("reports", clock);
  const ask = (caller: string) => limits.run(caller, running, async () => caller);
  for (let asked = 0; asked < 30; asked += 1) await ask("ada");
  await expect(ask("ada")).rejects.toMatchObject({
    status: 429,
    code: "too_many_reports",
    message: "You requested more than 30 reports in a minute. Retry in 2 s.",
    headers: { "retry-after": "2" },
  });
  expect(await ask("bob")).toBe("bob");
  clock.advance(2_000);
  expect(await ask("ada")).toBe("ada");
});

test("a caller's reports are made one at a time, and those of others meanwhile", async () => {
  const limits = new ReadLimits("reports", new FakeClock());
  const begun: string[] = [];
  const first = Promise.withResolvers<void>();
  const report = (caller: string, name: string, until?: Promise<void>) =>
    limits.run(caller, running, async () => {
      begun.push(name);
      await until;
    });
  const one = report("ada", "one", first.promise);
  const two = report("ada", "two");
  await report("bob", "other");
  expect(begun).toEqual(["one", "other"]);
  first.resolve();
  await Promise.all([one, two]);
  expect(begun).toEqual(["one", "other", "two"]);
});

test("a report that fails lets the next one begin", async () => {
  const limits = new ReadLimits("reports", new FakeClock());
  const failed = limits.run("ada", running, () => Promise.reject(new Error("broken")));
  await expect(failed).rejects.toThrow("broken");
  expect(await limits.run("ada", running, async () => 1)).toBe(1);
});

test("no more than ten reports of a caller wait, and none whose client has disconnected", async () => {
  const limits = new ReadLimits("reports", new FakeClock());
  const first = Promise.withResolvers<void>();
  const client = new AbortController();
  const one = limits.run("ada", running, () => first.promise);
  const waiting = Array.from({ length: 10 }, () => limits.run("ada", client.signal, async () => {}));
  const refused = limits.run("ada", running, async () => {});
  await expect(refused).rejects.toMatchObject({ status: 429, code: "too_many_reports" });
  client.abort();
  const endings = await Promise.allSettled(waiting);
  expect(endings.map(({ status }) => status)).toEqual(Array(10).fill("rejected"));
  first.resolve();
  await one;
});

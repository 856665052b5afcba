import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { GatewayError } from "../../src/base/errors.ts";
import { delayed, json, silence } from "../support/answers.ts";
import { FakeClock } from "../support/clock.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { setUp } from "./fixtures.ts";

let provider: ScriptedProvider;

beforeEach(() => {
  provider = startProvider();
});

afterEach(() => provider.stop());

const good = json({ id: "x" });
const nobodyComes = () => {};
const timeouts = { connectMs: 50, firstByteMs: 200 };

describe("a provider that was not heard from lately", () => {
  test("and cannot be connected to in time is given up, and another is asked", async () => {
    const other = startProvider(good);
    provider.script(silence());
    const knock = (_: string, port: number, done: (stood: boolean) => void) => {
      if (other.url.endsWith(`:${port}`)) done(true);
    };
    const places = [
      { url: provider.url, timeouts },
      { url: other.url, priority: 2 },
    ];
    const { upstream, plan } = setUp(places, { knock });
    const opened = await upstream.open(plan());
    expect(opened.deployment.name).toBe("p1/real");
    opened.finished("completed");
    other.stop();
  });

  test("and cannot be connected to is unavailable, not slow", async () => {
    provider.script(silence());
    const { upstream, plan } = setUp([{ url: provider.url, timeouts }], { knock: nobodyComes });
    const error = await upstream.open(plan({ clientDialect: "messages" })).catch((it: GatewayError) => it);
    expect(error).toMatchObject({ status: 502, code: "provider_unavailable" });
  });

  test("but accepts connections may take its time to answer", async () => {
    provider.script(delayed(good, 120));
    const { upstream, plan } = setUp([{ url: provider.url, timeouts: { ...timeouts, firstByteMs: 20_000 } }]);
    expect((await upstream.open(plan())).attempts).toBe(1);
  });

  test("is too slow only by its own limit once it is connected to", async () => {
    provider.script(silence());
    const { upstream, plan } = setUp([{ url: provider.url, timeouts }]);
    const error = await upstream.open(plan({ clientDialect: "messages" })).catch((it: GatewayError) => it);
    expect(error).toMatchObject({ status: 504, code: "upstream_timeout" });
  });
});

test("one knock serves all calls that wait, and a provider heard from needs none", async () => {
  const clock = new FakeClock();
  const knocks: ((stood: boolean) => void)[] = [];
  provider.script(delayed(good, 30));
  const { upstream, plan } = setUp([{ url: provider.url }], {
    clock,
    knock: (_host, _port, done) => knocks.push(done),
  });
  const ask = async () => (await upstream.open(plan())).finished("completed");
  const both = [ask(), ask()];
  expect(knocks).toHaveLength(1);
  knocks[0]?.(true);
  await Promise.all(both);
  await ask();
  expect(knocks).toHaveLength(1);
  clock.advance(60_000);
  await ask();
  expect(knocks).toHaveLength(2);
});

import { expect } from "bun:test";
import { iso } from "../../src/admin/moments.ts";
import type { DeploymentHealth } from "../../src/upstream/upstream.ts";
import { model as catalogModel } from "../catalog/fixtures.ts";
import { testEachStore } from "../store/each-store.ts";
import { FakeClock } from "../support/clock.ts";
import { HookServer } from "../support/hook.ts";
import { deploymentHealth, monitorOf, secret, settings } from "./fixtures.ts";

testEachStore(
  "a provider that fails and responds in turn is one alert, until it is well for a minute",
  async (database) => {
    const clock = new FakeClock();
    using hook = new HookServer();
    const store = await database.openGateway(clock);
    let health: DeploymentHealth[] = [];
    const { monitor } = monitorOf(store, clock, hook, { deploymentHealth: () => health });
    for (let looked = 0; looked < 10; looked += 1) {
      const isFailing = looked % 2 === 0;
      health = [deploymentHealth(isFailing ? { consecutiveFailures: 3 } : { answeredAtMs: clock.wallMs() })];
      await monitor.check();
      clock.advance(5_000);
    }
    expect(hook.alerts.map(({ kind, state }) => [kind, state])).toEqual([["provider_failing", "firing"]]);
    clock.advance(45_000);
    await monitor.check();
    expect(hook.posts).toHaveLength(1);
    clock.advance(5_000);
    await monitor.check();
    expect(hook.alerts.slice(1)).toMatchObject([
      { kind: "provider_failing", state: "resolved", text: "Provider openai responds again." },
    ]);
    expect(monitor.list).toEqual([]);
    await store.close();
  },
);

testEachStore(
  "a model that cannot be had is posted at once, whatever its providers say",
  async (database) => {
    const clock = new FakeClock();
    using hook = new HookServer();
    const store = await database.openGateway(clock);
    const model = {
      model: "gpt-test",
      sinceMs: clock.wallMs(),
      lastError: { status: 503, code: "service_unavailable" },
    };
    let unavailable = [model, { ...model, model: "removed-since" }];
    const { monitor } = monitorOf(store, clock, hook, {
      settings: () => ({
        ...settings,
        models: [catalogModel("gpt-test")],
        alerts: { url: hook.url, secret },
      }),
      unavailableModels: () => unavailable,
    });
    await monitor.check();
    expect(hook.alerts).toMatchObject([
      {
        kind: "model_unavailable",
        state: "firing",
        subject: { type: "model", id: "gpt-test" },
        text: `No request for model gpt-test has succeeded since ${iso(clock.wallMs()).replace(".000", "")}; the last one got 503 service_unavailable.`,
        details: { status: 503, code: "service_unavailable" },
      },
    ]);
    unavailable = [];
    await monitor.check();
    expect(hook.alerts.slice(1)).toMatchObject([
      { state: "resolved", text: "Requests for model gpt-test no longer fail." },
    ]);
    await store.close();
  },
);

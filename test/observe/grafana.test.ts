import { expect, test } from "bun:test";
import dashboard from "../../config/grafana/sluice.json";
import { Metrics } from "../../src/observe/metrics.ts";
import { exchangeFacts } from "./fixtures.ts";

test("the Grafana dashboard asks only for metrics that there are", () => {
  const metrics = new Metrics();
  metrics.observe(exchangeFacts({ errorCode: "upstream_error" }));
  const text = metrics.render({
    inFlight: 0,
    droppedEndings: 0,
    heldCredits: 0,
    heldTokens: 0,
    eventLoopLagMs: 0,
    residentBytes: 0,
    journal: { batches: 0, items: 0, failedBatches: 0, lastBatchItems: 0, lastBatchMs: 0, pendingItems: 0 },
    breakers: [{ deployment: "a/b", state: "closed", inFlight: 0 }],
  });
  const asked = new Set(JSON.stringify(dashboard.panels).match(/\b(?:sluice|process)_[a-z_]+/g));
  expect(asked.size).toBeGreaterThan(12);
  expect([...asked].filter((name) => !new RegExp(`^${name}[ {]`, "m").test(text))).toEqual([]);
});

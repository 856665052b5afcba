import { expect, test } from "bun:test";
import { healthText } from "../../src/dashboard/page/health.ts";

const resting = {
  state: "closed" as const,
  wait_ms: 0,
  in_flight: 0,
  alarm: null as string | null,
  failing: null,
  recent_attempts: 0,
  recent_failures: 0,
  keys: 1,
  keys_ready: 1,
};

test("a deployment whose calls fail is not called healthy, though its breaker is closed", () => {
  const text = (health: Partial<typeof resting>) => healthText({ ...resting, ...health }).text;
  expect(text({})).toBe("idle");
  expect(text({ recent_attempts: 1 })).toBe("healthy");
  expect(text({ recent_attempts: 10, recent_failures: 4 })).toBe("healthy");
  expect(text({ recent_attempts: 1, recent_failures: 1 })).toBe("failing");
  expect(text({ recent_attempts: 10, recent_failures: 5 })).toBe("failing");
  expect(text({ alarm: "billing" })).toBe("billing problem");
  expect(text({ alarm: "billing", recent_attempts: 9, state: "closed" })).toBe("billing problem");
  expect(text({ alarm: "status_418" })).toBe("requests rejected");
  expect(text({ keys_ready: 0 })).toBe("no credential ready");
  expect(text({ recent_attempts: 1, keys: 0, keys_ready: 0 })).toBe("healthy");
  expect(healthText({ ...resting, state: "cooling", recent_attempts: 1, recent_failures: 1 }).text).toBe(
    "cooling down",
  );
});

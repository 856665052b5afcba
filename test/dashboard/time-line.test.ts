import { expect, test } from "bun:test";
import type { AttemptView } from "../../src/admin/requests/schema.ts";
import { phasesOf } from "../../src/dashboard/page/pages/time-line.ts";

const times = {
  first_byte_ms: 500,
  total_ms: 2_000,
  stream: true,
  provider: "openai",
  upstream_model: "gpt",
} as const;

function attempt(deployment: string, failure: string | null, durationMs: number): AttemptView {
  const none = { status: null, cause: null, provider_message: null, next: null };
  return { ...none, deployment, failure, duration_ms: durationMs, denied: [] };
}

test("a request's time is its queue, its attempts, its stream and its charge, one after the other", () => {
  const attempts = [attempt("a/gpt", "status_500", 100), attempt("openai/gpt", null, 300)];
  expect(phasesOf(times, attempts, 7)).toEqual([
    { name: "Queue", kind: "queue", startMs: 0, ms: 100 },
    { name: "a/gpt, status_500", kind: "failed", startMs: 100, ms: 100 },
    { name: "openai/gpt, first byte", kind: "attempt", startMs: 200, ms: 300 },
    { name: "Stream", kind: "stream", startMs: 500, ms: 1_500 },
    { name: "Settle", kind: "settle", startMs: 2_000, ms: 7 },
  ]);
});

test("a first attempt that succeeded is shown though no list of attempts is kept", () => {
  expect(phasesOf({ ...times, stream: false }, [], null)).toEqual([
    { name: "openai/gpt, first byte", kind: "attempt", startMs: 0, ms: 500 },
    { name: "Response", kind: "stream", startMs: 500, ms: 1_500 },
  ]);
});

test("a request that no provider was called for only waited", () => {
  const rejected = { ...times, first_byte_ms: null, total_ms: 3, provider: "" };
  expect(phasesOf(rejected, [], null)).toEqual([{ name: "Queue", kind: "queue", startMs: 0, ms: 3 }]);
  expect(phasesOf({ ...times, total_ms: null }, [], null)).toEqual([]);
});

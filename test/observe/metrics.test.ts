import { describe, expect, test } from "bun:test";
import type { AttemptRecord } from "../../src/base/requests/attempt.ts";
import { Metrics } from "../../src/observe/metrics.ts";
import { exchangeFacts, gauges, rejectedAttempt } from "./fixtures.ts";

function rendered(...all: ReturnType<typeof exchangeFacts>[]): string[] {
  const metrics = new Metrics();
  for (const facts of all) metrics.observe(facts);
  return metrics.render(gauges).split("\n");
}

const labels = 'route="/v1/chat/completions",model="house-model",provider="openai"';

describe("metrics", () => {
  test("count all models that only clients name together, so that their number is bounded", () => {
    const named = (model: string) => exchangeFacts({ model, isUnlistedModel: true });
    const lines = rendered(named("gpt-8-zeta"), named("gpt-8-eta"));
    expect(lines).toContain(
      `sluice_requests_total{${labels.replace("house-model", "other")},status="200"} 2`,
    );
    expect(lines.join("\n")).not.toContain("gpt-8");
  });

  test("count requests, tokens and spend per route, model and provider", () => {
    const lines = rendered(exchangeFacts(), exchangeFacts());
    expect(lines).toContain(`sluice_requests_total{${labels},status="200"} 2`);
    expect(lines).toContain(`sluice_tokens_total{${labels},kind="input"} 200`);
    expect(lines).toContain(`sluice_tokens_total{${labels},kind="cached_input"} 40`);
    expect(lines).toContain(`sluice_spend_credits_total{${labels}} 5`);
    expect(lines).toContain(`sluice_upstream_attempts_total{${labels}} 2`);
  });

  test("count every attempt under the provider that was asked, and why it failed", () => {
    const failed: AttemptRecord = {
      deployment: "acme/model",
      provider: "acme",
      upstreamModel: "model",
      status: 500,
      code: "upstream_error",
      failure: "status_500",
      cause: null,
      said: null,
      durationMs: 1,
      left: "next_deployment",
    };
    const failedOver = exchangeFacts({ attempts: 2, failedAttempts: [failed] });
    const brokenOff = exchangeFacts({ outcome: "failed", errorCode: "upstream_error" });
    const givenUp = {
      status: 502,
      outcome: "failed",
      errorCode: "upstream_error",
      provider: "acme",
    } as const;
    const lines = rendered(
      failedOver,
      brokenOff,
      exchangeFacts({ ...givenUp, attempts: 2, failedAttempts: [failed, failed] }),
    );
    const acme = labels.replace("openai", "acme");
    expect(lines).toContain(`sluice_upstream_attempts_total{${labels}} 2`);
    expect(lines).toContain(`sluice_upstream_attempts_total{${acme}} 3`);
    expect(lines).toContain(`sluice_upstream_failures_total{${acme},failure="status_500"} 3`);
    expect(lines).toContain(`sluice_upstream_failures_total{${labels},failure="interrupted_response"} 1`);
    expect(lines.filter((line) => line.startsWith("sluice_upstream_failures_total{"))).toHaveLength(2);
  });

  test("count failures of each configured provider from 0, over all routes and models", () => {
    const before = rendered();
    expect(before).toContain('sluice_provider_failures_total{provider="openai",failure="status_401"} 0');
    expect(before).toContain('sluice_provider_failures_total{provider="a",failure="billing"} 0');
    const unusual = { ...rejectedAttempt, failure: "status_418" };
    const after = rendered(
      exchangeFacts({ attempts: 1, failedAttempts: [rejectedAttempt] }),
      exchangeFacts({
        attempts: 2,
        failedAttempts: [rejectedAttempt, unusual],
        route: "/v1/messages",
        model: "b",
      }),
    );
    expect(after).toContain('sluice_provider_failures_total{provider="openai",failure="status_401"} 2');
    expect(after).toContain('sluice_provider_failures_total{provider="openai",failure="status_418"} 1');
    expect(after).toContain('sluice_provider_failures_total{provider="a",failure="status_401"} 0');
  });

  test("name the version, the start of the process, and the provider of an alert", () => {
    const lines = rendered();
    expect(lines).toContain('sluice_build_info{version="1.2.3"} 1');
    expect(lines).toContain("process_start_time_seconds 1800000000.5");
    expect(lines).toContain('sluice_alerts_active{kind="provider_auth",provider="openai"} 1');
    expect(lines).toContain('sluice_alerts_active{kind="cap_threshold"} 3');
  });

  test("count calls that were left and not charged although a provider had been asked", () => {
    const left = { outcome: "cancelled", status: 499, charged: 0, stream: false, attempts: 1 } as const;
    const lines = rendered(
      exchangeFacts(left),
      exchangeFacts(left),
      exchangeFacts({ ...left, stream: true }),
      exchangeFacts({ ...left, attempts: 0 }),
      exchangeFacts({ ...left, charged: 1 }),
      exchangeFacts({ ...left, outcome: "failed" }),
    );
    expect(lines).toContain(`sluice_abandoned_requests_total{${labels},form="non_streaming"} 2`);
    expect(lines).toContain(`sluice_abandoned_requests_total{${labels},form="streaming"} 1`);
  });

  test("count what budgets were charged in tokens, apart from credits, whatever the address", () => {
    const lines = rendered(exchangeFacts({ route: "/v1/messages", mode: "token_budget", charged: 130 }));
    const series = '{route="/v1/messages",model="house-model",provider="openai"}';
    expect(lines).toContain(`sluice_spend_tokens_total${series} 130`);
    expect(lines).toContain(`sluice_spend_credits_total${series} 0`);
  });

  test("count a refused request without a model, by its error's code", () => {
    const refused = {
      status: 401,
      errorCode: "invalid_credentials",
      model: null,
      provider: null,
      usage: null,
    };
    const lines = rendered(exchangeFacts({ ...refused, charged: 0, firstByteMs: null, attempts: 0 }));
    const series = 'route="/v1/chat/completions",model="none",provider="none"';
    expect(lines).toContain(`sluice_errors_total{${series},code="invalid_credentials"} 1`);
  });

  test("are cumulative histograms in seconds", () => {
    const lines = rendered(exchangeFacts({ totalMs: 900 }), exchangeFacts({ totalMs: 400_000 }));
    expect(lines).toContain(`sluice_request_duration_seconds_bucket{${labels},le="0.5"} 0`);
    expect(lines).toContain(`sluice_request_duration_seconds_bucket{${labels},le="1"} 1`);
    expect(lines).toContain(`sluice_request_duration_seconds_bucket{${labels},le="300"} 1`);
    expect(lines).toContain(`sluice_request_duration_seconds_bucket{${labels},le="+Inf"} 2`);
    expect(lines).toContain(`sluice_request_duration_seconds_count{${labels}} 2`);
  });

  test("include the journal, the breakers and the loop's lag", () => {
    const lines = rendered();
    expect(lines).toContain('sluice_breaker_state{deployment="openai/gpt-5.6",state="open"} 1');
    expect(lines).toContain("sluice_journal_last_batch_seconds 0.0005");
    expect(lines).toContain("sluice_event_loop_lag_seconds 0.012");
    expect(lines).toContain('sluice_reserved{unit="tokens"} 200');
    expect(lines).toContain('sluice_overrun_total{unit="credits"} 0.25');
    expect(lines).toContain('sluice_overrun_total{unit="tokens"} 7');
  });

  test("escape what a configuration may name a model", () => {
    const lines = rendered(exchangeFacts({ model: 'a"b\\c' }));
    expect(lines.some((line) => line.includes('model="a\\"b\\\\c"'))).toBeTrue();
  });
});

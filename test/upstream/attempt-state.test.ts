import { expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { shownModel } from "../../src/base/models/shown-model.ts";
import type { Failure } from "../../src/upstream/failure.ts";
import type { Candidate } from "../../src/upstream/health/deployment-state.ts";
import { AttemptState } from "../../src/upstream/selection/attempt-state.ts";

function candidate(name: string, coolDownMs = 0): Candidate {
  return {
    deployment: { name, upstreamModel: name, shownModel: shownModel(name), provider: { settings: { name } } },
    state: { breaker: { coolDowns: { requestedMs: () => coolDownMs } } },
  } as unknown as Candidate;
}

function failure(message: string, changes: Partial<Failure> = {}): Failure {
  return {
    error: new GatewayError("provider_unavailable", message),
    kind: "status_500",
    providerMessage: null,
    mayTryOtherDeployments: true,
    mayRetry: false,
    evidence: null,
    coolDownMs: null,
    keyProblem: null,
    quotaResetMs: null,
    rejectsSignatures: false,
    hasExpired: false,
    alarm: false,
    ...changes,
  };
}

test("of several failures the client is told the first overload, because it says when to come back", () => {
  const state = new AttemptState([candidate("one"), candidate("two"), candidate("three")]);
  state.attemptFailed(candidate("one"), failure("broken"), 500, 1);
  expect(state.error().message).toBe("broken");
  state.attemptFailed(candidate("two"), failure("overloaded", { coolDownMs: 1_000 }), 429, 1);
  state.attemptFailed(candidate("three"), failure("overloaded later", { coolDownMs: 9_000 }), 429, 1);
  state.attemptFailed(candidate("three"), failure("broken again"), 500, 1);
  expect(state.error().message).toBe("overloaded");
  state.attemptFailed(candidate("three"), failure("your fault", { mayTryOtherDeployments: false }), 400, 1);
  expect(state.error().message).toBe("your fault");
});

test("without an overload the last failure is told", () => {
  const state = new AttemptState([candidate("one"), candidate("two")]);
  state.attemptFailed(candidate("one"), failure("first"), 500, 1);
  state.attemptFailed(candidate("two"), failure("second"), 500, 1);
  expect(state.error().message).toBe("second");
});

test("of those that cool down the one with the shortest wait is kept, the first of equals", () => {
  const all = [
    candidate("one", 9_000),
    candidate("two", 2_500),
    candidate("three", 4_000),
    candidate("four", 2_500),
  ];
  const state = new AttemptState(all);
  for (const each of all) state.skippedCooling(each, 0, "key_1");
  expect(state.coolingCandidate).toBe(all[1] ?? null);
  const { message, retryAfterSeconds } = state.error();
  expect({ message, retryAfterSeconds }).toEqual({
    message: "All providers of this model are rate limiting the gateway. Retry in 3 s.",
    retryAfterSeconds: 3,
  });
});

test("a pause that is over in a moment is a second of Retry-After, and no record shows the operator's account", () => {
  const state = new AttemptState([candidate("one"), candidate("two")]);
  state.skippedCooling(candidate("one"), 0, "key_1");
  expect(state.error().retryAfterSeconds).toBe(1);
  const arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1";
  const { upstreamModel } = state.attemptFailed(candidate(arn), failure("broken"), 500, 1);
  expect(upstreamModel).not.toContain("123456789012");
});

test("the first that may be retried is, whatever fails after it", () => {
  const [one, two] = [candidate("one"), candidate("two")];
  const state = new AttemptState([one, two]);
  for (const each of [one, two]) state.attemptFailed(each, failure("broken", { mayRetry: true }), 500, 1);
  expect(state.retryCandidate).toBe(one);
});

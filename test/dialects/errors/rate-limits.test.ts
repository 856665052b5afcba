import { describe, expect, test } from "bun:test";
import {
  anthropicLimits,
  openAiLimits,
  translateRateLimits,
} from "../../../src/dialects/errors/rate-limits.ts";

const nowMs = Date.UTC(2026, 10, 15, 12);

describe("a provider's rate-limit headers have the names of the client's vendor (C83)", () => {
  const openAi = {
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-remaining-requests": "59",
    "x-ratelimit-reset-requests": "6m0s",
    "x-ratelimit-remaining-tokens": "149984",
    "x-ratelimit-reset-tokens": "120ms",
  };
  const anthropic = {
    "anthropic-ratelimit-requests-limit": "60",
    "anthropic-ratelimit-requests-remaining": "59",
    "anthropic-ratelimit-requests-reset": "2026-11-15T12:06:00Z",
    "anthropic-ratelimit-tokens-remaining": "149984",
    "anthropic-ratelimit-tokens-reset": "2026-11-15T12:00:01Z",
  };
  const inSeconds = {
    ...openAi,
    "x-ratelimit-reset-requests": "360s",
    "x-ratelimit-reset-tokens": "1s",
  };

  test.each([
    ["OpenAI's for Anthropic's clients", openAi, anthropicLimits, anthropic],
    ["Anthropic's for OpenAI's clients", anthropic, openAiLimits, inSeconds],
    ["each for its own", anthropic, anthropicLimits, anthropic],
  ] as const)("%s", (_, given, form, expected) => {
    expect(translateRateLimits(new Headers(given), form, nowMs)).toEqual(expected);
  });

  test("what is malformed is left out", () => {
    const odd = {
      "x-ratelimit-limit-requests": "many",
      "x-ratelimit-reset-requests": "soon",
      "anthropic-ratelimit-tokens-reset": "tomorrow",
    };
    const beyondAllDates = { "x-ratelimit-reset-requests": "100000000d" };
    expect(translateRateLimits(new Headers(beyondAllDates), anthropicLimits, nowMs)).toEqual({});
    expect(translateRateLimits(new Headers(odd), openAiLimits, nowMs)).toEqual({});
    expect(translateRateLimits(new Headers(), anthropicLimits, nowMs)).toEqual({});
  });
});

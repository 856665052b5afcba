import { expect, test } from "bun:test";
import type { Target } from "../../../src/dialects/contract/provider-dialect.ts";
import { openAiIdentity } from "../../../src/dialects/openai/request-fields.ts";
import { providerDialect } from "../../../src/dialects/registry.ts";

const target: Target = {
  dialect: providerDialect("responses"),
  upstreamModel: "gpt-5.6",
  provider: "p",
  isStrict: true,
  maxOutputTokens: null,
  maxTokensField: "max_completion_tokens",
  streamUsage: true,
  capabilities: {},
};
const nobody = { user: null, safetyIdentifier: null, promptCacheKey: null };

test("Claude Code's long user_id becomes a short name, and its session the cache key (C55)", () => {
  const user = JSON.stringify({ device_id: "d".repeat(64), account_uuid: "", session_id: "s-1" });
  const written = openAiIdentity({ ...nobody, user }, target);
  expect(written.user).toHaveLength(64);
  expect(written.prompt_cache_key).toBe("s-1");
  expect(openAiIdentity({ ...nobody, user }, target)).toEqual(written);
});

test("short names and keys stay as they are (C55)", () => {
  const identity = { user: "u", safetyIdentifier: "s", promptCacheKey: "k" };
  expect(openAiIdentity(identity, target)).toEqual({
    user: "u",
    safety_identifier: "s",
    prompt_cache_key: "k",
  });
  expect(openAiIdentity(nobody, target)).toEqual({});
});

test("a name that repeats what a session begins with is read in no time", () => {
  const user = `${"_session_".repeat(100_000)}!`;
  const startedMs = performance.now();
  expect(openAiIdentity({ ...nobody, user }, target).user).toHaveLength(64);
  // A minute for 360 KB, before.
  expect(performance.now() - startedMs).toBeLessThan(500);
  const old = openAiIdentity({ ...nobody, user: "user_1_account__session_ab-12" }, target);
  expect(old.prompt_cache_key).toBe("ab-12");
});

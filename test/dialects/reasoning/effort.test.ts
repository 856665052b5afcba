import { expect, test } from "bun:test";
import type { Target } from "../../../src/dialects/contract/provider-dialect.ts";
import type { IrReasoningSettings } from "../../../src/dialects/ir/ir.ts";
import { effortOf, openAiEffort } from "../../../src/dialects/reasoning/effort.ts";
import { providerDialect } from "../../../src/dialects/registry.ts";

const unset: IrReasoningSettings = {
  effort: null,
  thinking: null,
  budgetTokens: null,
  visible: null,
  summary: null,
};

function openAi(upstreamModel: string): Target {
  return {
    dialect: providerDialect("responses"),
    upstreamModel,
    provider: "p",
    isStrict: true,
    maxOutputTokens: null,
    maxTokensField: "max_completion_tokens",
    streamUsage: true,
    capabilities: {},
  };
}

test("an effort wins over a budget, and a budget falls into its bucket (C38)", () => {
  expect(effortOf({ ...unset, effort: "max", budgetTokens: 1024 })).toBe("max");
  const buckets = [4096, 4095, 2048, 1024, 1023].map((budgetTokens) => effortOf({ ...unset, budgetTokens }));
  expect(buckets).toEqual(["high", "medium", "medium", "low", "minimal"]);
  expect(effortOf(unset)).toBeNull();
});

test("thinking that is disabled is no effort, or nothing where a model knows no such thing (C38)", () => {
  const disabled: IrReasoningSettings = { ...unset, thinking: "disabled" };
  expect(openAiEffort(disabled, openAi("gpt-5.6"))).toBe("none");
  expect(openAiEffort(disabled, openAi("gpt-5"))).toBeNull();
});

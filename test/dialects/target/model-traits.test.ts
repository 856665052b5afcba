import { describe, expect, test } from "bun:test";
import { capabilitiesSchema } from "../../../src/config/schema/model.ts";
import type { Target } from "../../../src/dialects/contract/provider-dialect.ts";
import { providerDialect } from "../../../src/dialects/registry.ts";
import { reasons, takesOutputFormat } from "../../../src/dialects/target/model-traits.ts";

function target(upstreamModel: string, capabilities: Target["capabilities"] = {}): Target {
  return {
    dialect: providerDialect("messages"),
    isStrict: true,
    upstreamModel,
    provider: "p",
    maxOutputTokens: 4096,
    maxTokensField: "max_tokens",
    streamUsage: true,
    capabilities,
  };
}

describe("what the config declares beats what a model's name tells", () => {
  const cases = [
    ["reasoning", reasons],
    ["structured_output", takesOutputFormat],
  ] as const;

  test.each(cases)("%s", (capability, has) => {
    expect(has(target("claude-opus-4-6"))).toBe(true);
    expect(has(target("claude-opus-4-6", { [capability]: false }))).toBe(false);
    expect(has(target("house-model"))).toBe(false);
    expect(has(target("house-model", { [capability]: true }))).toBe(true);
  });

  test("under the names that the config's own schema has", () => {
    expect(Object.keys(capabilitiesSchema.properties)).toEqual(
      expect.arrayContaining(cases.map(([capability]) => capability)),
    );
  });
});

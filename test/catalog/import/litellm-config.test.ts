import { describe, expect, test } from "bun:test";
import { importLiteLlmConfig } from "../../../src/catalog/import/litellm-config.ts";
import { loadSettings } from "../../../src/config/load.ts";
import { withFile } from "./fixtures.ts";

const yaml = `
model_list:
  - model_name: house-model
    litellm_params:
      model: openai/gpt-6.1-sol
      api_key: os.environ/OPENAI_API_KEY
      weight: 3
      rpm: 500
    model_info:
      input_cost_per_token: 0.000002
      output_cost_per_token: 0.00001
      max_input_tokens: 272000
      max_output_tokens: 128000
      supports_function_calling: true
  - model_name: house-model
    litellm_params:
      model: groq/llama-4-maverick
      order: 2
      max_parallel_requests: 8
  - model_name: claude
    litellm_params:
      model: claude-opus-5-5
      api_key: sk-ant-plain-secret
      temperature: 0.2
  - model_name: local
    litellm_params:
      model: openai/facebook/opt-125m
      api_base: http://127.0.0.1:8000/v1
      api_key: os.environ/VLLM_KEY
  - model_name: cloud
    litellm_params:
      model: azure/gpt-eu
      api_base: https://example.openai.azure.com
  - model_name: "openai/*"
    litellm_params:
      model: "openai/*"
litellm_settings:
  drop_params: true
  fallbacks:
    - house-model: ["claude", "cloud"]
router_settings:
  routing_strategy: least-busy
general_settings:
  master_key: sk-1234
  database_url: postgresql://user:secret@host/db
environment_variables:
  REDIS_HOST: localhost
`;

const env = { OPENAI_API_KEY: "a", GROQ_API_KEY: "b", ANTHROPIC_API_KEY: "c", VLLM_KEY: "d" };

describe("LiteLLM's config.yaml", () => {
  const imported = importLiteLlmConfig(yaml);

  test("becomes a configuration that loads", () => {
    using file = withFile("sluice.toml", imported.toml);
    const { settings } = loadSettings({ file: file.path, env, cwd: file.folder });
    expect([...settings.providers.values()].map(({ name, kind, baseUrl }) => [name, kind, baseUrl])).toEqual([
      ["openai", "openai", "https://api.openai.com/v1"],
      ["groq", "openai-compatible", "https://api.groq.com/openai/v1"],
      ["anthropic", "anthropic", "https://api.anthropic.com"],
      ["openai-2", "openai-compatible", "http://127.0.0.1:8000/v1"],
    ]);
    expect(settings.models.map((model) => model.id)).toEqual(["house-model", "claude", "local"]);
    const [house] = settings.models;
    expect(house).toMatchObject({ contextWindow: 272000, maxOutputTokens: 128000, fallbacks: ["claude"] });
    expect(house?.deployments).toMatchObject([
      {
        provider: "openai",
        upstreamModel: "gpt-6.1-sol",
        weight: 3,
        price: { input: 2_000_000, output: 10_000_000 },
      },
      { provider: "groq", upstreamModel: "llama-4-maverick", priority: 2, maxConcurrent: 8 },
    ]);
    expect(settings.models[2]?.deployments[0]?.upstreamModel).toBe("facebook/opt-125m");
  });

  test("leaves no secret of it in what is written or told", () => {
    const all = JSON.stringify(imported);
    for (const secret of ["sk-ant-plain-secret", "sk-1234", "user:secret"]) expect(all).not.toContain(secret);
  });

  test("says everything that could not come along", () => {
    const reported = imported.dropped.join("\n");
    for (const what of [
      "house-model: rpm of its litellm_params",
      "claude: its api_key stands in the file; put it into ANTHROPIC_API_KEY",
      "claude: temperature of its litellm_params",
      "claude: no price in the file",
      "cloud: azure/gpt-eu is of a provider whose dialect is not spoken here",
      "openai/*: wildcards have no counterpart",
      "litellm_settings.drop_params",
      "router_settings.routing_strategy",
      "general_settings.master_key: set SLUICE_ADMIN_TOKEN instead",
      "general_settings.database_url",
      "environment_variables",
    ]) {
      expect(reported).toContain(what);
    }
  });
});

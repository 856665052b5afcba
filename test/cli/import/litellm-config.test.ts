import { describe, expect, test } from "bun:test";
import { importLiteLlmConfig } from "../../../src/cli/import/litellm-config.ts";
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
      model: sagemaker/jumpstart-gpt
  - model_name: "openai/*"
    litellm_params:
      model: "openai/*"
  - model_name: vectors
    litellm_params:
      model: openai/text-embedding-3-small
  - model_name: speech
    litellm_params:
      model: openai/our-own-voice
    model_info:
      mode: audio_speech
  - model_name: film
    litellm_params:
      model: openai/our-own-film
    model_info:
      mode: video_generation
litellm_settings:
  drop_params: true
  request_timeout: 60
  fallbacks:
    - house-model: ["claude", "cloud"]
router_settings:
  routing_strategy: least-busy
  model_group_alias:
    gpt-4: house-model
    best: { model: claude, hidden: true }
    vec: vectors
    cinema: film
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
    // Models of the catalog, by the wildcard, follow.
    expect(settings.models.slice(0, 5).map(({ id, serves }) => [id, ...serves])).toEqual([
      ["house-model", "generation"],
      ["claude", "generation"],
      ["local", "generation"],
      ["vectors", "embeddings"],
      ["speech", "speech"],
    ]);
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

  test("keeps the aliases of models, and leaves out what no route serves", () => {
    using file = withFile("sluice.toml", imported.toml);
    const { models } = loadSettings({ file: file.path, env }).settings;
    expect(models.slice(0, 5).map(({ id, aliases }) => [id, ...aliases])).toEqual([
      ["house-model", "gpt-4"],
      ["claude", "best"],
      ["local"],
      ["vectors", "vec"],
      ["speech"],
    ]);
  });

  test("says everything that could not come along", () => {
    const reported = [...imported.check, ...imported.dropped].join("\n");
    for (const what of [
      "house-model: rpm of its litellm_params",
      "claude: its api_key is written in the file; set ANTHROPIC_API_KEY instead",
      "claude: temperature of its litellm_params",
      "claude, vectors: no price in the file; using the list prices of the built-in catalog",
      "house-model: no price of llama-4-maverick is known, so only token-budget keys can use it",
      "cloud: the provider of sagemaker/jumpstart-gpt is unknown",
      "openai/*: serves the models of the built-in catalog at list price, and no others",
      "film: Sluice has no route for mode video_generation",
      "cinema: an alias of film, which was not converted",
      "litellm_settings.drop_params: the response headers list",
      "router_settings.routing_strategy",
      "general_settings.master_key: set SLUICE_ADMIN_TOKEN instead",
      "general_settings.database_url",
      "environment_variables",
    ]) {
      expect(reported).toContain(what);
    }
  });
});

describe("the clouds in LiteLLM's config.yaml", () => {
  const clouds = `
model_list:
  - model_name: azure-v1
    litellm_params:
      model: azure/our-gpt
      api_base: https://example.openai.azure.com
      api_key: os.environ/AZURE_API_KEY
    model_info:
      base_model: azure/gpt-5.6
  - model_name: azure-dated
    litellm_params:
      model: azure/our-gpt
      api_base: https://example.openai.azure.com/
      api_version: "2024-10-21"
      tenant_id: os.environ/AZURE_TENANT_ID
      client_id: 66666666-7777-8888-9999-000000000000
      client_secret: plain-canary-secret
  - model_name: foundry-claude
    litellm_params:
      model: azure_ai/claude-opus-5-5
      api_base: https://example.services.ai.azure.com
      api_key: os.environ/AZURE_AI_API_KEY
  - model_name: gemini
    litellm_params:
      model: gemini/gemini-3.1-pro-preview
      api_key: os.environ/GEMINI_API_KEY
  - model_name: vertex
    litellm_params:
      model: vertex_ai/claude-opus-5-5@20261001
      vertex_project: my-project
      vertex_location: europe-west1
      vertex_credentials: os.environ/VERTEX_JSON
  - model_name: vertex-adc
    litellm_params:
      model: vertex_ai/gemini-3.1-pro-preview
      vertex_project: my-project
  - model_name: bedrock-keys
    litellm_params:
      model: bedrock/converse/eu.anthropic.claude-opus-5-5-20261001-v1:0
      aws_region_name: eu-central-1
      aws_access_key_id: os.environ/AWS_ACCESS_KEY_ID
      aws_secret_access_key: os.environ/AWS_SECRET_ACCESS_KEY
  - model_name: bedrock-chain
    litellm_params:
      model: bedrock/us-west-2/amazon.nova-pro-v1:0
      aws_role_name: arn:aws:iam::123456789012:role/x
  - model_name: local
    litellm_params:
      model: ollama/qwen3
      api_base: http://localhost:11434
`;
  const secrets = {
    AZURE_API_KEY: "azure-key",
    AZURE_CLIENT_SECRET: "azure-secret",
    AZURE_AI_API_KEY: "foundry-key",
    GEMINI_API_KEY: "gemini-key",
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "aws-secret-key",
    VERTEX_JSON: JSON.stringify({ type: "service_account", client_email: "a@b.example", private_key: "x" }),
  };
  const imported = importLiteLlmConfig(clouds, {
    env: { AZURE_TENANT_ID: "11111111-2222-3333-4444-555555555555" },
  });

  test("become providers of their own kinds, in a configuration that loads", () => {
    using file = withFile("sluice.toml", imported.toml);
    const { settings } = loadSettings({ file: file.path, env: secrets, cwd: file.folder });
    const kinds = [...settings.providers.values()].map(
      ({ name, kind, baseUrl }) => `${name} ${kind} ${baseUrl}`,
    );
    expect(kinds).toEqual([
      "azure azure https://example.openai.azure.com/openai/v1",
      "azure-2 azure https://example.openai.azure.com/openai",
      "azure_ai azure https://example.services.ai.azure.com/anthropic",
      "gemini gemini https://generativelanguage.googleapis.com",
      "vertex_ai vertex https://europe-west1-aiplatform.googleapis.com",
      "vertex_ai-2 vertex https://aiplatform.googleapis.com",
      "bedrock bedrock https://bedrock-runtime.eu-central-1.amazonaws.com",
      "bedrock-2 bedrock https://bedrock-runtime.us-west-2.amazonaws.com",
      "ollama openai-compatible http://localhost:11434/v1",
    ]);
    expect(
      settings.models.map(({ deployments: [first] }) => [first?.upstreamModel, first?.dialects[0]]),
    ).toEqual([
      ["our-gpt", "chat"],
      ["our-gpt", "chat"],
      ["claude-opus-5-5", "messages"],
      ["gemini-3.1-pro-preview", "gemini"],
      ["claude-opus-5-5@20261001", "messages"],
      ["gemini-3.1-pro-preview", "gemini"],
      ["eu.anthropic.claude-opus-5-5-20261001-v1:0", "messages"],
      ["amazon.nova-pro-v1:0", "converse"],
      ["qwen3", "chat"],
    ]);
  });

  test("get the list prices of the models that are known, by whatever name a cloud has for them", () => {
    using file = withFile("sluice.toml", imported.toml);
    const { settings } = loadSettings({ file: file.path, env: secrets, cwd: file.folder });
    const input = (id: string) =>
      settings.models.find((model) => model.id === id)?.deployments[0]?.price?.input;
    expect(input("azure-v1")).toBe(4_000_000);
    expect(input("vertex")).toBe(4_400_000);
    expect(input("bedrock-keys")).toBe(4_400_000);
    expect(input("gemini")).toBe(2_000_000);
    expect(input("local")).toBeUndefined();
    expect(settings.models[0]?.deployments[0]?.family).toBe("gpt-5.6");
  });

  test("leave no secret in what is written, and what not supported is told", () => {
    expect(JSON.stringify(imported)).not.toContain("plain-canary-secret");
    expect(imported.check).toContain(
      "azure-dated: its client_secret is written in the file; set AZURE_CLIENT_SECRET instead",
    );
    expect(imported.dropped).toContain("bedrock-chain: aws_role_name of its litellm_params");
    const asked = importLiteLlmConfig(clouds, { env: {} }).check;
    expect(asked).toContain("azure-dated: tenant_id is in AZURE_TENANT_ID, which is not set here; set it");
  });
});

import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { type ImportOptions, importLiteLlmConfig } from "../../../src/cli/import/litellm-config.ts";

interface Converted {
  /** The lines of the provider, without its header. */
  readonly provider: readonly string[];
  /** The lines of the deployment, without its header, provider and price. */
  readonly deployment: readonly string[];
  readonly check: readonly string[];
  readonly dropped: readonly string[];
}

/** Converts one deployment. `stated` suppresses notes about a missing price, which these tests are not about. */
function convert(params: JsonObject, options: ImportOptions = { env: {} }, info: JsonObject = {}): Converted {
  const stated = { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };
  const entry = { model_name: "m", litellm_params: params, model_info: { ...stated, ...info } };
  const { toml, check, dropped } = importLiteLlmConfig(JSON.stringify({ model_list: [entry] }), options);
  const [provider = "", model = ""] = toml.split(/\n(?=\[\[models\]\])/);
  return { provider: linesAfter(provider, "[providers."), deployment: deploymentIn(model), check, dropped };
}

function linesAfter(text: string, header: string): string[] {
  const lines = text.trim().split("\n");
  const at = lines.findIndex((line) => line.startsWith(header));
  return at === -1 ? [] : lines.slice(at + 1);
}

function deploymentIn(model: string): string[] {
  return linesAfter(model, "[[models.deployments]]").filter((line) => !/^(?:provider|price) = /.test(line));
}

describe("a provider is known by the prefix of its models", () => {
  const compatible = (url: string, variable: string) => [
    'kind = "openai-compatible"',
    `base_url = "${url}"`,
    `api_key = "env:${variable}"`,
  ];
  test.each([
    ["openai/gpt-x", ['kind = "openai"', 'api_key = "env:OPENAI_API_KEY"']],
    ["anthropic/claude-x", ['kind = "anthropic"', 'api_key = "env:ANTHROPIC_API_KEY"']],
    ["gemini/gemini-x", ['kind = "gemini"', 'api_key = "env:GEMINI_API_KEY"']],
    ["groq/x", compatible("https://api.groq.com/openai/v1", "GROQ_API_KEY")],
    ["mistral/x", compatible("https://api.mistral.ai/v1", "MISTRAL_API_KEY")],
    ["deepseek/x", compatible("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY")],
    ["xai/x", compatible("https://api.x.ai/v1", "XAI_API_KEY")],
    ["openrouter/a/x", compatible("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY")],
    ["together_ai/a/x", compatible("https://api.together.xyz/v1", "TOGETHERAI_API_KEY")],
    ["fireworks_ai/x", compatible("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY")],
    ["cerebras/x", compatible("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY")],
    ["voyage/x", compatible("https://api.voyageai.com/v1", "VOYAGE_API_KEY")],
    ["jina_ai/x", compatible("https://api.jina.ai/v1", "JINA_AI_API_KEY")],
    ["cohere/embed-v4.0", compatible("https://api.cohere.com/v2", "COHERE_API_KEY")],
    ["cohere_chat/command-a", compatible("https://api.cohere.com/v2", "COHERE_API_KEY")],
    ["ollama/x", ['kind = "openai-compatible"', 'base_url = "http://127.0.0.1:11434/v1"']],
    ["ollama_chat/x", ['kind = "openai-compatible"', 'base_url = "http://127.0.0.1:11434/v1"']],
  ])("%s", (model, lines) => {
    const { provider, deployment, dropped } = convert({ model });
    expect(provider).toEqual(lines);
    expect(deployment).toEqual([`upstream_model = "${model.slice(model.indexOf("/") + 1)}"`]);
    expect(dropped).toEqual([]);
  });

  test.each([
    ["gpt-5.6", "openai"],
    ["o3", "openai"],
    ["chatgpt-latest", "openai"],
    ["whisper-1", "openai"],
    ["text-embedding-3-small", "openai"],
    ["claude-opus-5", "anthropic"],
  ])("or by the name %s alone", (model, kind) => {
    const { provider, deployment } = convert({ model });
    expect(provider[0]).toBe(`kind = "${kind}"`);
    expect(deployment).toEqual([`upstream_model = "${model}"`]);
  });

  test.each(["sagemaker/x", "our-own", "my-gpt-5"])("%s is not known, and told", (model) => {
    expect(convert({ model })).toEqual({
      provider: [],
      deployment: [],
      check: [],
      dropped: [
        `m: the provider of ${model} is unknown; if it has OpenAI's API, add it with kind = "openai-compatible"`,
      ],
    });
  });

  test.each([["hosted_vllm"], ["lm_studio"], ["azure"], ["azure_ai"]])("%s needs an address", (prefix) => {
    expect(convert({ model: `${prefix}/x` }).dropped).toEqual([
      `m: ${prefix} needs an api_base; add it, and import again`,
    ]);
  });
});

describe("a server of one's own", () => {
  test.each([
    ["openai", "http://gpu:8000/v1", "http://gpu:8000/v1", "openai-compatible"],
    ["hosted_vllm", "http://gpu:8000/v1", "http://gpu:8000/v1", "openai-compatible"],
    ["anthropic", "https://proxy.example", "https://proxy.example", "anthropic"],
    ["ollama", "http://gpu:11434", "http://gpu:11434/v1", "openai-compatible"],
    ["ollama", "http://gpu:11434//", "http://gpu:11434/v1", "openai-compatible"],
    ["ollama", "http://gpu:11434/v1/", "http://gpu:11434/v1/", "openai-compatible"],
  ])("%s at %s", (prefix, given, address, kind) => {
    for (const name of ["api_base", "base_url"]) {
      const { provider } = convert({ model: `${prefix}/x`, [name]: given, api_key: "os.environ/K" });
      expect(provider).toEqual([`kind = "${kind}"`, `base_url = "${address}"`, 'api_key = "env:K"']);
    }
  });

  test("is OpenAI's own where that is its address", () => {
    const { provider } = convert({ model: "openai/gpt-x", api_base: "https://api.openai.com/v1" });
    expect(provider).toEqual(['kind = "openai"', 'api_key = "env:OPENAI_API_KEY"']);
  });

  test("has a variable of its own for a key that stands in the file", () => {
    const vllm = convert({ model: "hosted_vllm/x", api_base: "http://gpu/v1", api_key: "sk-secret" });
    expect(vllm.provider[2]).toBe('api_key = "env:HOSTED_VLLM_API_KEY"');
    expect(vllm.check).toEqual(["m: its api_key is written in the file; set HOSTED_VLLM_API_KEY instead"]);
    expect(convert({ model: "openai/x", api_key: "sk" }).provider[1]).toBe('api_key = "env:OPENAI_API_KEY"');
  });
});

describe("Azure", () => {
  const origin = "https://r.openai.azure.com";
  const azure = (params: JsonObject, env = {}) => convert({ model: "azure/our-gpt", ...params }, { env });

  test.each([
    [{ api_base: origin }, [`base_url = "${origin}/openai/v1"`]],
    [{ base_url: `${origin}/` }, [`base_url = "${origin}/openai/v1"`]],
    [{ api_base: origin, api_version: "v1" }, [`base_url = "${origin}/openai/v1"`]],
    [{ api_base: origin, api_version: "preview" }, [`base_url = "${origin}/openai/v1"`]],
    [
      { api_base: origin, api_version: "2024-10-21" },
      [`base_url = "${origin}/openai"`, 'api_version = "2024-10-21"'],
    ],
    [{ api_base: `${origin}/openai/deployments/x` }, [`base_url = "${origin}/openai/deployments/x"`]],
    [{ api_base: "not an address" }, ['base_url = "not an address"']],
  ])("%j", (params, lines) => {
    expect(azure(params).provider).toEqual(['kind = "azure"', ...lines, 'api_key = "env:AZURE_API_KEY"']);
  });

  test("takes a key, or an application of Entra", () => {
    expect(azure({ api_base: origin, api_key: "os.environ/OTHER" }).provider.at(-1)).toBe(
      'api_key = "env:OTHER"',
    );
    const written = azure({ api_base: origin, api_key: "sk" });
    expect(written.provider.at(-1)).toBe('api_key = "env:AZURE_API_KEY"');
    expect(written.check).toEqual(["m: its api_key is written in the file; set AZURE_API_KEY instead"]);
    const entra = { client_secret: "os.environ/S", tenant_id: "t", client_id: "os.environ/CLIENT" };
    expect(azure({ api_base: origin, api_key: "sk", ...entra }, { CLIENT: "c" }).provider.slice(2)).toEqual([
      'tenant_id = "t"',
      'client_id = "c"',
      'client_secret = "env:S"',
    ]);
    expect(azure({ api_base: origin, client_secret: "plain" }).check).toEqual([
      "m: its client_secret is written in the file; set AZURE_CLIENT_SECRET instead",
    ]);
  });

  test.each([
    ["claude-opus-5", "anthropic"],
    ["gpt-5.6", "openai/v1"],
    ["our-claude-5", "openai/v1"],
  ])("has %s of Foundry below /%s", (model, path) => {
    for (const name of ["api_base", "base_url"]) {
      expect(
        convert({ model: `azure_ai/${model}`, [name]: "https://r.services.ai.azure.com" }).provider,
      ).toEqual([
        'kind = "azure"',
        `base_url = "https://r.services.ai.azure.com/${path}"`,
        'api_key = "env:AZURE_AI_API_KEY"',
      ]);
    }
  });
});

describe("Vertex", () => {
  const vertex = (params: JsonObject) => convert({ model: "vertex_ai/gemini-x", ...params });

  test.each([
    [{}, ['project = "enter-its-value"', 'credentials = "adc"']],
    [
      { vertex_project: "p", vertex_location: "eu" },
      ['project = "p"', 'location = "eu"', 'credentials = "adc"'],
    ],
    [
      { vertex_project: "p", vertex_credentials: "/keys/a.json" },
      ['project = "p"', 'credentials = "file:/keys/a.json"'],
    ],
    [
      { vertex_project: "p", vertex_credentials: "os.environ/VERTEX" },
      ['project = "p"', 'credentials = "env:VERTEX"'],
    ],
    [
      { vertex_project: "p", vertex_credentials: ' {"private_key":"canary"}' },
      ['project = "p"', 'credentials = "env:VERTEX_CREDENTIALS"'],
    ],
  ])("%j", (params, lines) => {
    const { provider, check, dropped } = vertex(params);
    expect(provider).toEqual(['kind = "vertex"', ...lines]);
    expect(JSON.stringify([provider, check, dropped])).not.toContain("canary");
  });

  test("says where to put a document that stands in the file", () => {
    expect(vertex({ vertex_credentials: "{}" }).check).toEqual([
      "m: its vertex_credentials is written in the file; set VERTEX_CREDENTIALS instead",
    ]);
  });
});

describe("Bedrock", () => {
  const bedrock = (model: string, params: JsonObject = {}) =>
    convert({ model: `bedrock/${model}`, ...params });
  const keys = { aws_access_key_id: "os.environ/ID", aws_secret_access_key: "os.environ/SECRET" };

  test.each([
    [{ aws_region_name: "eu-west-1" }, ['region = "eu-west-1"', 'credentials = "chain"']],
    [
      { aws_region_name: "eu-west-1", api_key: "os.environ/B" },
      ['region = "eu-west-1"', 'api_key = "env:B"'],
    ],
    [
      { aws_region_name: "eu-west-1", ...keys },
      ['region = "eu-west-1"', 'access_key_id = "env:ID"', 'secret_access_key = "env:SECRET"'],
    ],
    [
      { aws_region_name: "eu-west-1", ...keys, aws_session_token: "os.environ/T" },
      [
        'region = "eu-west-1"',
        'access_key_id = "env:ID"',
        'secret_access_key = "env:SECRET"',
        'session_token = "env:T"',
      ],
    ],
    [
      { aws_region_name: "eu-west-1", aws_access_key_id: "os.environ/ID" },
      ['region = "eu-west-1"', 'credentials = "chain"'],
    ],
    [
      { aws_region_name: "eu-west-1", aws_secret_access_key: "os.environ/SECRET" },
      ['region = "eu-west-1"', 'credentials = "chain"'],
    ],
  ])("%j", (params, lines) => {
    expect(bedrock("amazon.nova-pro-v1:0", params)).toEqual({
      provider: ['kind = "bedrock"', ...lines],
      deployment: ['upstream_model = "amazon.nova-pro-v1:0"'],
      check: [],
      dropped: [],
    });
  });

  test("takes its own key before those of AWS", () => {
    const { provider, dropped } = bedrock("us-east-1/x", { api_key: "os.environ/B", ...keys });
    expect(provider).toEqual(['kind = "bedrock"', 'region = "us-east-1"', 'api_key = "env:B"']);
    expect(dropped).toEqual(["m: aws_access_key_id, aws_secret_access_key of its litellm_params"]);
  });

  test("says which variables secrets belong into that stand in the file", () => {
    const written = { aws_access_key_id: "a", aws_secret_access_key: "b", aws_session_token: "c" };
    expect(bedrock("x", { aws_region_name: "eu-west-1", ...written })).toMatchObject({
      provider: [
        'kind = "bedrock"',
        'region = "eu-west-1"',
        'access_key_id = "env:AWS_ACCESS_KEY_ID"',
        'secret_access_key = "env:AWS_SECRET_ACCESS_KEY"',
        'session_token = "env:AWS_SESSION_TOKEN"',
      ],
      dropped: [],
      check: [
        "m: its aws_access_key_id is written in the file; set AWS_ACCESS_KEY_ID instead",
        "m: its aws_secret_access_key is written in the file; set AWS_SECRET_ACCESS_KEY instead",
        "m: its aws_session_token is written in the file; set AWS_SESSION_TOKEN instead",
      ],
    });
    expect(bedrock("us-east-1/x", { api_key: "k" }).check).toEqual([
      "m: its api_key is written in the file; set AWS_BEARER_TOKEN_BEDROCK instead",
    ]);
  });

  test.each([
    ["us-west-2/amazon.nova-pro-v1:0", "us-west-2", "amazon.nova-pro-v1:0"],
    ["converse/us-gov-west-1/x", "us-gov-west-1", "x"],
    ["invoke/ap-southeast-2/x", "ap-southeast-2", "x"],
    ["us-east-1/converse/x", "us-east-1", "x"],
    ["eu-central-1", "eu-central-1", "eu-central-1"],
    [
      "eu-west-1/arn:aws:bedrock:eu-west-1:1:application-inference-profile/abc",
      "eu-west-1",
      "arn:aws:bedrock:eu-west-1:1:application-inference-profile/abc",
    ],
  ])("%s names its region", (model, region, upstream) => {
    const { provider, deployment, dropped } = bedrock(model);
    expect(provider[1]).toBe(`region = "${region}"`);
    expect(deployment).toEqual([`upstream_model = "${upstream}"`]);
    expect(dropped).toEqual([]);
  });

  test("is in us-east-1 if nothing says where, and that is told", () => {
    const { provider, check } = convert({ model: "bedrock_converse/x" });
    expect(provider).toEqual(['kind = "bedrock"', 'region = "us-east-1"', 'credentials = "chain"']);
    expect(check).toEqual(["m: it names no region; us-east-1 is assumed"]);
    expect(bedrock("converse/x").deployment).toEqual(['upstream_model = "x"']);
    expect(bedrock("x", { aws_region_name: "eu-west-1" }).dropped).toEqual([]);
  });
});

describe("a variable in place of a value", () => {
  const base = { model: "hosted_vllm/x", api_base: "os.environ/BASE" };

  test("is looked up, since our file has the value itself", () => {
    expect(convert(base, { env: { BASE: "http://gpu/v1" } })).toMatchObject({
      provider: ['kind = "openai-compatible"', 'base_url = "http://gpu/v1"'],
      check: [],
      dropped: [],
    });
  });

  test.each([{}, { BASE: "" }])("is asked for where it is not set: %j", (env) => {
    expect(convert(base, { env })).toMatchObject({
      provider: ['kind = "openai-compatible"', 'base_url = "enter-its-value"'],
      check: ["m: api_base is in BASE, which is not set here; set it"],
    });
  });
});

describe("a deployment", () => {
  test("keeps its weight, order and limit, and the model behind it", () => {
    const params = { model: "azure/our-gpt", api_base: "https://r.azure.com", weight: 2, order: 3 };
    const info = { base_model: "azure/gpt-5.6" };
    expect(convert({ ...params, max_parallel_requests: 4 }, {}, info).deployment).toEqual([
      'upstream_model = "our-gpt"',
      'family = "gpt-5.6"',
      "priority = 3",
      "weight = 2",
      "max_concurrent = 4",
    ]);
    expect(convert({ ...params, base_model: "gpt-5.6" }).deployment[1]).toBe('family = "gpt-5.6"');
    expect(convert({ ...params, base_model: "azure/our-gpt" }).deployment).not.toContain(
      'family = "our-gpt"',
    );
  });

  test.each([0, -1, 1.5, "3", null])("has no weight where it is %j", (weight) => {
    const none = ['upstream_model = "gpt-x"'];
    const params = { model: "openai/gpt-x", weight, order: weight, max_parallel_requests: weight };
    expect(convert(params)).toMatchObject({ deployment: none, dropped: [] });
  });

  test("tells what it had that not supported, in one line", () => {
    expect(convert({ model: "openai/gpt-x", rpm: 5, tpm: 6 }).dropped).toEqual([
      "m: rpm, tpm of its litellm_params",
    ]);
  });

  test("shares its provider with others that have the same settings, and with no other", () => {
    const list = [
      { model: "openai/a", api_key: "os.environ/A" },
      { model: "openai/b", api_key: "os.environ/A" },
      { model: "openai/c", api_key: "os.environ/B" },
      { model: "openai/d", api_key: "os.environ/A", timeout: 5 },
    ];
    const entries = list.map((litellm_params, index) => ({ model_name: `m${index}`, litellm_params }));
    const { toml, providers } = importLiteLlmConfig(JSON.stringify({ model_list: entries }), { env: {} });
    expect(providers).toBe(3);
    expect([...toml.matchAll(/^provider = "(.*)"$/gm)].map(([, name]) => name)).toEqual([
      "openai",
      "openai",
      "openai-2",
      "openai-3",
    ]);
  });
});

describe("what a model serves beside generation is taken over:", () => {
  const servesOf = (name: string, info: JsonObject = {}, params: JsonObject = {}) => {
    const entry = {
      model_name: "m",
      litellm_params: { model: `openai/${name}`, ...params },
      model_info: info,
    };
    const { toml, dropped } = importLiteLlmConfig(JSON.stringify({ model_list: [entry] }), { env: {} });
    const [, serves = "generation"] = /serves = \["(\w+)"\]/.exec(toml) ?? [];
    const [, price = null] = /price = \{ (.+) \}/.exec(toml) ?? [];
    return { serves, price, dropped };
  };
  const perToken = { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };

  test.each([
    ["text-embedding-3-small", "embeddings"],
    ["voyage/embed-3", "embeddings"],
    ["amazon.titan-embed-v2:0", "embeddings"],
    ["dall-e-3", "images"],
    ["gpt-image-1", "images"],
    ["imagen-4", "images"],
    ["whisper-1", "transcriptions"],
    ["gpt-4o-transcribe", "transcriptions"],
    ["tts-1", "speech"],
    ["gpt-4o-tts", "speech"],
    ["rerank-v3", "rerank"],
    ["omni-moderation-latest", "moderations"],
  ])("by the name %s", (name, serves) => {
    expect(servesOf(name)).toMatchObject({ serves });
  });

  test.each([
    ["embedding", "embeddings", perToken, "input = 1.0"],
    ["completion", "completions", perToken, "input = 1.0, output = 2.0"],
    ["rerank", "rerank", { input_cost_per_query: 0.002 }, "search_units = 2.0"],
    ["image_generation", "images", { output_cost_per_image: 0.04 }, "images = 0.04"],
    ["audio_transcription", "transcriptions", { input_cost_per_second: 0.0001 }, "audio_minutes = 0.006"],
    ["audio_speech", "speech", { input_cost_per_character: 1.5e-5 }, "characters = 15.0"],
    ["moderation", "moderations", {}, null],
  ])("by the mode %s, with the price in its own unit", (mode, serves, costs, price) => {
    expect(servesOf("x", { mode, ...costs })).toEqual({ serves, price, dropped: [] });
    expect(servesOf("x", { mode }, costs)).toEqual({ serves, price, dropped: [] });
  });

  test("but not by a mode that no route serves", () => {
    expect(servesOf("x", { mode: "video_generation" }).dropped).toEqual([
      "m: Sluice has no route for mode video_generation",
    ]);
  });

  test.each(["chat", "responses", "", 5])("and generation by the mode %j", (mode) => {
    expect(servesOf("gpt-x", { mode, ...perToken })).toMatchObject({ serves: "generation", dropped: [] });
  });

  test("the costs of other units stay named where a model generates", () => {
    const { dropped } = servesOf("gpt-x", perToken, { input_cost_per_second: 0.1 });
    expect(dropped).toEqual(["m: input_cost_per_second of its litellm_params"]);
  });

  test("a mode knows better than a name, and a name may only sound like another", () => {
    expect(servesOf("text-embedding-x", { mode: "chat" }).serves).toBe("generation");
    for (const name of ["attsaver", "embedded", "whisperer"]) {
      expect(servesOf(name).serves, name).toBe("generation");
    }
  });
});

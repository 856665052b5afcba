/** What the tests' providers are given as keys; no client must ever see them. */
export const upstreamKeys = {
  TEST_OPENAI_KEY: "sk-upstream-openai-canary",
  TEST_ANTHROPIC_KEY: "sk-upstream-anthropic-canary",
  TEST_GEMINI_KEY: "AIza-upstream-gemini-canary",
  TEST_BEDROCK_KEY: "bedrock-upstream-canary",
  TEST_OTHER_GEMINI_KEY: "AIza-another-gemini-canary",
};

/** Where the tests' models live; `url` is a scripted provider's. */
export interface ConfigOptions {
  readonly url: string;
  /** TOML put before the providers, such as `[server]` settings. */
  readonly head?: string;
  /** TOML lines of every provider. */
  readonly provider?: string;
  /** TOML put at the end, such as more models. */
  readonly tail?: string;
}

/**
 * Three providers on one scripted socket, each speaking what its kind speaks, and a model on each. Prices
 * make sums easy: input 1 and output 2 USD per million tokens.
 */
export function configFor({ url, head = "", provider = "", tail = "" }: ConfigOptions): string {
  const price = "price = { input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25 }";
  return `${head}

[providers.openai]
kind = "openai"
base_url = "${url}/openai/v1"
api_key = "env:TEST_OPENAI_KEY"
${provider}

[providers.anthropic]
kind = "anthropic"
base_url = "${url}/anthropic"
api_key = "env:TEST_ANTHROPIC_KEY"
${provider}

[providers.local]
kind = "openai-compatible"
base_url = "${url}/local/v1"
${provider}

[[models]]
id = "gpt-test"
provider = "openai"
upstream_model = "gpt-upstream"
display_name = "GPT Test"
tagline = "For tests"
context_window = 200000
max_output_tokens = 4096
${price}
capabilities = { tools = true, vision = true }

[[models]]
id = "claude-test"
provider = "anthropic"
upstream_model = "claude-upstream"
context_window = 200000
max_output_tokens = 4096
${price}
capabilities = { tools = true }

[[models]]
id = "local-test"
provider = "local"
upstream_model = "local-upstream"
context_window = 8192
max_output_tokens = 1024
${price}
capabilities = { tools = false }

${tail}
`;
}

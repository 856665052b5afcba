import type { KeyView } from "../../../admin/views.ts";

export interface Snippet {
  readonly name: string;
  readonly text: string;
}

/** Where clients of this key's mode send their requests; OpenAI's add `/v1`. */
export function addressFor(mode: KeyView["mode"]): string {
  return `${location.origin}${mode === "token_budget" ? "/token" : ""}`;
}

/** How common clients are told about this gateway; the key is put in where this tab knows it. */
export function snippetsFor(mode: KeyView["mode"], key: string, model: string): readonly Snippet[] {
  const address = addressFor(mode);
  const openai = `${address}/v1`;
  return [
    {
      name: "curl",
      text: `curl ${openai}/chat/completions \\
  -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\
  -d '{"model":"${model}","messages":[{"role":"user","content":"Hello"}]}'`,
    },
    {
      name: "OpenAI SDK",
      text: `from openai import OpenAI
client = OpenAI(base_url="${openai}", api_key="${key}")
print(client.responses.create(model="${model}", input="Hello").output_text)`,
    },
    {
      name: "Anthropic SDK",
      text: `from anthropic import Anthropic
client = Anthropic(base_url="${address}", auth_token="${key}")
print(client.messages.create(model="${model}", max_tokens=1024, messages=[{"role": "user", "content": "Hello"}]))`,
    },
    {
      name: "Claude Code",
      text: `export ANTHROPIC_BASE_URL=${address} ANTHROPIC_AUTH_TOKEN=${key}
claude --model ${model}`,
    },
    {
      name: "Codex",
      text: `export SLUICE_KEY=${key}
codex -c model_provider=sluice -c 'model_providers.sluice={name="Sluice",base_url="${openai}",env_key="SLUICE_KEY",wire_api="responses"}' -m ${model}`,
    },
    {
      name: "opencode",
      text: JSON.stringify(
        {
          provider: {
            sluice: {
              npm: "@ai-sdk/openai-compatible",
              options: { baseURL: openai, apiKey: key },
              models: { [model]: {} },
            },
          },
        },
        null,
        2,
      ),
    },
    { name: "Open WebUI", text: `OPENAI_API_BASE_URL=${openai}\nOPENAI_API_KEY=${key}` },
    {
      name: "LangChain",
      text: `from langchain_openai import ChatOpenAI
print(ChatOpenAI(base_url="${openai}", api_key="${key}", model="${model}").invoke("Hello").content)`,
    },
  ];
}

import { modeOrigins } from "../key-attributes.ts";
import { shellQuoted, shellWord } from "../text/shell-word.ts";

/** A client's connection to the gateway. */
export interface ClientAccess {
  /** Without `/v1`, which OpenAI's clients add; with `/token` for a token-budget key. */
  readonly address: string;
  readonly key: string;
  readonly model: string;
  /** The model's limits in tokens. Without them some clients assume larger ones, and the provider rejects the request. */
  readonly limits?: ModelLimits | null;
}

export interface ModelLimits {
  readonly context: number;
  readonly output: number;
}

/** The model's limits from its entry in `/v1/models`; null unless both are known. */
export function limitsOf(model: {
  readonly context_window?: unknown;
  readonly max_output_tokens?: unknown;
}): ModelLimits | null {
  const { context_window: context, max_output_tokens: output } = model;
  return typeof context === "number" && typeof output === "number" ? { context, output } : null;
}

export function addressFor(url: string, mode: keyof typeof modeOrigins): string {
  return `${url.replace(/\/+$/, "")}${modeOrigins[mode]}`;
}

interface ClientSnippet {
  /** As `sluice connect` calls it. */
  readonly id: string;
  readonly name: string;
  /** The file for the text, unless it is typed into a shell or a program. */
  readonly file?: string;
  readonly text: (connection: ClientAccess) => string;
}

/**
 * The settings that common clients need, as shown by the command line, the self-service page and the documentation.
 * `test/clients/snippets.test.ts` runs them. Each text quotes the model's id, because an id can contain any characters.
 * A JSON string is also a literal of Python and YAML.
 */
export const clientSnippets = [
  {
    id: "curl",
    name: "curl",
    text: ({ address, key, model }) => `curl ${shellWord(`${address}/v1/chat/completions`)} \\
  -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\
  -d ${shellQuoted(JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }))}`,
  },
  {
    id: "openai",
    name: "OpenAI SDK",
    text: ({ address, key, model }) => `from openai import OpenAI
client = OpenAI(base_url=${JSON.stringify(`${address}/v1`)}, api_key="${key}")
print(client.responses.create(model=${JSON.stringify(model)}, input="Hello").output_text)`,
  },
  {
    id: "anthropic",
    name: "Anthropic SDK",
    text: ({ address, key, model }) => `from anthropic import Anthropic
client = Anthropic(base_url=${JSON.stringify(address)}, auth_token="${key}")
print(client.messages.create(model=${JSON.stringify(model)}, max_tokens=1024, messages=[{"role": "user", "content": "Hello"}]))`,
  },
  {
    id: "google-genai",
    name: "Google Gen AI SDK",
    text: ({ address, key, model }) => `import { GoogleGenAI } from "@google/genai";
const google = new GoogleGenAI({ apiKey: "${key}", httpOptions: { baseUrl: ${JSON.stringify(address)} } });
console.log((await google.models.generateContent({ model: ${JSON.stringify(model)}, contents: "Hello" })).text);`,
  },
  {
    id: "claude-code",
    name: "Claude Code",
    text: ({
      address,
      key,
      model,
    }) => `export ANTHROPIC_BASE_URL=${shellWord(address)} ANTHROPIC_AUTH_TOKEN=${key}
claude --model ${shellWord(model)}`,
  },
  {
    id: "codex",
    name: "Codex",
    text: ({ address, key, model }) => `export SLUICE_KEY=${key}
codex -c model_provider=sluice -c ${shellQuoted(`model_providers.sluice={name="Sluice",base_url=${JSON.stringify(`${address}/v1`)},env_key="SLUICE_KEY",wire_api="responses"}`)} -m ${shellWord(model)}`,
  },
  {
    id: "gemini-cli",
    name: "Gemini CLI",
    text: ({
      address,
      key,
      model,
    }) => `export GOOGLE_GEMINI_BASE_URL=${shellWord(address)} GEMINI_API_KEY=${key}
mkdir -p ~/.gemini && test -e ~/.gemini/settings.json || echo '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' > ~/.gemini/settings.json
# In a folder that it does not trust yet, it refuses to run without a terminal: add --skip-trust there.
gemini --model ${shellWord(model)}`,
  },
  {
    id: "opencode",
    name: "opencode",
    file: "opencode.json",
    text: ({ address, key, model, limits }) =>
      JSON.stringify(
        {
          provider: {
            sluice: {
              npm: "@ai-sdk/openai-compatible",
              options: { baseURL: `${address}/v1`, apiKey: key },
              models: { [model]: limits ? { limit: limits } : {} },
            },
          },
        },
        null,
        2,
      ),
  },
  {
    id: "cline",
    name: "Cline",
    text: ({
      address,
      key,
      model,
    }) => `# In an editor: API Provider "OpenAI Compatible", with this base URL, API key and model ID.
cline auth openai-compatible --baseurl ${shellWord(`${address}/v1`)} --apikey ${key} --modelid ${shellWord(model)}`,
  },
  {
    id: "aider",
    name: "Aider",
    text: ({
      address,
      key,
      model,
    }) => `export OPENAI_API_BASE=${shellWord(`${address}/v1`)} OPENAI_API_KEY=${key}
aider --model ${shellWord(`openai/${model}`)}`,
  },
  {
    id: "continue",
    name: "Continue",
    file: "~/.continue/config.yaml",
    text: ({ address, key, model }) => `name: Sluice
version: 1.0.0
schema: v1
models:
  - name: ${JSON.stringify(model)}
    provider: openai
    model: ${JSON.stringify(model)}
    apiBase: ${JSON.stringify(`${address}/v1`)}
    apiKey: ${key}
    roles: [chat, edit, apply]`,
  },
  {
    id: "qwen-code",
    name: "Qwen Code",
    text: ({
      address,
      key,
      model,
      limits,
    }) => `export OPENAI_BASE_URL=${shellWord(`${address}/v1`)} OPENAI_API_KEY=${key}${limits ? ` QWEN_CODE_MAX_OUTPUT_TOKENS=${limits.output}` : ""}
qwen --auth-type openai --model ${shellWord(model)}`,
  },
  {
    id: "crush",
    name: "Crush",
    file: "crush.json",
    text: ({ address, key, model, limits }) =>
      JSON.stringify(
        {
          providers: {
            sluice: {
              type: "openai-compat",
              base_url: `${address}/v1`,
              api_key: key,
              models: [
                {
                  id: model,
                  name: model,
                  ...(limits ? { context_window: limits.context, default_max_tokens: limits.output } : {}),
                },
              ],
            },
          },
        },
        null,
        2,
      ),
  },
  {
    id: "zed",
    name: "Zed",
    file: "~/.config/zed/settings.json",
    text: ({
      address,
      key,
      model,
      limits,
    }) => `// The key goes into the environment: export SLUICE_API_KEY=${key}
${JSON.stringify(
  {
    language_models: {
      openai_compatible: {
        Sluice: {
          api_url: `${address}/v1`,
          available_models: [
            {
              name: model,
              // Zed needs a number.
              max_tokens: limits?.context ?? 128_000,
              ...(limits ? { max_output_tokens: limits.output } : {}),
            },
          ],
        },
      },
    },
  },
  null,
  2,
)}`,
  },
  {
    id: "llm",
    name: "llm",
    text: ({ address, key, model }) => `llm keys set sluice --value ${key}
cat >> "$(dirname "$(llm logs path)")/extra-openai-models.yaml" <<'END'
- model_id: sluice
  model_name: ${JSON.stringify(model)}
  api_base: ${JSON.stringify(`${address}/v1`)}
  api_key_name: sluice
END
llm -m sluice Hello`,
  },
  {
    id: "open-webui",
    name: "Open WebUI",
    text: ({ address, key }) => `OPENAI_API_BASE_URL=${shellWord(`${address}/v1`)}\nOPENAI_API_KEY=${key}`,
  },
  {
    id: "langchain",
    name: "LangChain",
    text: ({ address, key, model }) => `from langchain_openai import ChatOpenAI
print(ChatOpenAI(base_url=${JSON.stringify(`${address}/v1`)}, api_key="${key}", model=${JSON.stringify(model)}).invoke("Hello").content)`,
  },
] as const satisfies readonly ClientSnippet[];

export type ClientId = (typeof clientSnippets)[number]["id"];

export const clientIds: readonly ClientId[] = clientSnippets.map(({ id }) => id);

export function snippetOf(id: ClientId): ClientSnippet {
  const found: ClientSnippet | undefined = clientSnippets.find((snippet) => snippet.id === id);
  if (found === undefined) throw new Error(`no snippet has the id ${id}`);
  return found;
}

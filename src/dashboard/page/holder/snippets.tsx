import { useState } from "preact/hooks";
import type { KeyView } from "../../../admin/views.ts";
import { useLoaded } from "../api.ts";
import { plainChoices } from "../parts/choose.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { SelectField } from "../parts/field.tsx";

/** Where clients of this key's mode send their requests; OpenAI's add `/v1`. */
function addressFor(mode: KeyView["mode"]): string {
  return `${location.origin}${mode === "token_budget" ? "/token" : ""}`;
}

/** How common clients are told about this gateway; the key is put in where this tab knows it. */
export function snippetsFor(mode: KeyView["mode"], key: string, model: string) {
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

interface PublicModels {
  readonly data: readonly { readonly id: string }[];
}

/** A model that the key may use, for the examples. */
async function aModel(key: Pick<KeyView, "models" | "mode">): Promise<string> {
  const [named] = key.models ?? [];
  if (named !== undefined) return named;
  const { data }: PublicModels = await fetch(`${addressFor(key.mode)}/v1/models`).then((response) =>
    response.json(),
  );
  return data[0]?.id ?? "MODEL";
}

export function Snippets({ of: key, secret }: { of: KeyView; secret: string | null }) {
  const chosen = useState("curl");
  const model = useLoaded(`model of ${key.id}`, () => aModel(key).catch(() => "MODEL"));
  const snippets = snippetsFor(key.mode, secret ?? "YOUR_KEY", model.value ?? "MODEL");
  const { text } = snippets.find(({ name }) => name === chosen[0]) ?? { text: "" };
  return (
    <div class="snippets stack">
      <p>
        OpenAI clients: <code>{addressFor(key.mode)}/v1</code> · Anthropic clients:{" "}
        <code>{addressFor(key.mode)}</code>
      </p>
      <SelectField label="Client" of={chosen} choices={plainChoices(snippets.map(({ name }) => name))} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls must be reachable by keyboard. */}
      <pre class="well snippet" tabIndex={0}>
        {text}
      </pre>
      <CopyButton text={text} label="Copy snippet" />
    </div>
  );
}

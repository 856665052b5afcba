import { useState } from "preact/hooks";
import type { KeyView } from "../../../admin/key-terms/schema.ts";
import {
  addressFor,
  type ClientId,
  clientIds,
  clientSnippets,
  limitsOf,
  type ModelLimits,
  snippetOf,
} from "../../../base/models/client-snippets.ts";
import { preferredModel } from "../../../base/models/preferred-model.ts";
import { useLoaded } from "../api.ts";
import { CopyButton } from "../parts/copy.tsx";
import { SelectField } from "../parts/field.tsx";

interface PublicModels {
  readonly data: readonly {
    readonly id: string;
    readonly provider?: string;
    readonly serves?: readonly string[];
    readonly context_window?: number | null;
  }[];
}

type ListedModels = PublicModels["data"];

/** The LLMs that the key can use: with its secret as the gateway lists them, else as far as the public list has them. */
async function usableModels(key: KeyView, secret: string | null): Promise<ListedModels> {
  const { data }: PublicModels = await fetch(`${addressFor(location.origin, key.mode)}/v1/models`, {
    credentials: "omit",
    headers: secret === null ? {} : { authorization: `Bearer ${secret}` },
  }).then((response) => response.json());
  const generating = data.filter(({ serves }) => serves?.includes("generation") ?? true);
  const inScope = generating.filter(
    ({ provider }) => key.provider_scope === "all" || provider === key.provider_scope,
  );
  if (key.models === null) return inScope;
  return key.models.map((id) => generating.find((listed) => listed.id === id) ?? { id });
}

export function Snippets({ apiKey: key, secret }: { apiKey: KeyView; secret: string | null }) {
  const models = useLoaded(`models of ${key.id}`, () => usableModels(key, secret).catch(() => []));
  return (
    <SnippetChoice
      mode={key.mode}
      secret={secret}
      exampleOf={(client) => preferredModel(client, models.value ?? [])}
    />
  );
}

interface SnippetChoiceProps {
  readonly mode: KeyView["mode"];
  readonly secret: string | null;
  /** The model that a client's snippet names. */
  readonly exampleOf: (client: ClientId) => ListedModels[number] | undefined;
}

/** Setup instructions for each client. */
export function SnippetChoice({ mode, secret, exampleOf }: SnippetChoiceProps) {
  const chosen = useState<string>("curl");
  const address = addressFor(location.origin, mode);
  const client = clientIds.find((id) => id === chosen[0]) ?? "curl";
  const snippet = snippetOf(client);
  const model = exampleOf(client);
  const limits: ModelLimits | null = model === undefined ? null : limitsOf(model);
  const text = snippet.text({ address, key: secret ?? "YOUR_KEY", model: model?.id ?? "MODEL", limits });
  return (
    <div class="snippets stack">
      <p>
        OpenAI clients: <code>{address}/v1</code> · Anthropic and Google clients: <code>{address}</code>
      </p>
      <SelectField
        label="Client"
        state={chosen}
        choices={clientSnippets.map(({ id, name }) => ({ value: id, text: name }))}
      />
      {snippet.file === undefined ? null : (
        <p>
          In <code>{snippet.file}</code>:
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls must be reachable by keyboard. */}
      <pre class="well snippet" tabIndex={0}>
        {text}
      </pre>
      <CopyButton text={text} label="Copy snippet" />
    </div>
  );
}

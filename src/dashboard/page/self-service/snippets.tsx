import { useState } from "preact/hooks";
import type { KeyView } from "../../../admin/keys/schema.ts";
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

interface ExampleModel {
  readonly model: string;
  readonly limits: ModelLimits | null;
}

interface PublicModels {
  readonly data: readonly {
    readonly id: string;
    readonly provider?: string;
    readonly serves?: readonly string[];
    readonly context_window?: number | null;
  }[];
}

const unknownModel: ExampleModel = { model: "MODEL", limits: null };

type ListedModels = PublicModels["data"];

/** The LLMs that the key can use, as far as the public list has them. */
async function usableModels(key: KeyView): Promise<ListedModels> {
  const { data }: PublicModels = await fetch(`${addressFor(location.origin, key.mode)}/v1/models`).then(
    (response) => response.json(),
  );
  const generating = data.filter(({ serves }) => serves?.includes("generation") ?? true);
  const inScope = generating.filter(
    ({ provider }) => key.provider_scope === "all" || provider === key.provider_scope,
  );
  if (key.models === null) return inScope;
  return key.models.map((id) => generating.find((listed) => listed.id === id) ?? { id });
}

function exampleModel(client: ClientId, models: ListedModels): ExampleModel {
  const model = preferredModel(client, models);
  return model === undefined ? unknownModel : { model: model.id, limits: limitsOf(model) };
}

export function Snippets({ apiKey: key, secret }: { apiKey: KeyView; secret: string | null }) {
  const chosen = useState<string>("curl");
  const address = addressFor(location.origin, key.mode);
  const models = useLoaded(`models of ${key.id}`, () => usableModels(key).catch(() => []));
  const client = clientIds.find((id) => id === chosen[0]) ?? "curl";
  const snippet = snippetOf(client);
  const text = snippet.text({
    address,
    key: secret ?? "YOUR_KEY",
    ...exampleModel(client, models.value ?? []),
  });
  return (
    <div class="snippets stack">
      <p>
        OpenAI clients: <code>{address}/v1</code> · Anthropic clients: <code>{address}</code>
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

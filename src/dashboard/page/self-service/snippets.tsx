import { useState } from "preact/hooks";
import type { KeyView } from "../../../admin/keys/schema.ts";
import {
  addressFor,
  clientIds,
  clientSnippets,
  limitsOf,
  type ModelLimits,
  snippetOf,
} from "../../../base/models/client-snippets.ts";
import { useLoaded } from "../api.ts";
import { CopyButton } from "../parts/copy.tsx";
import { SelectField } from "../parts/field.tsx";

interface ExampleModel {
  readonly model: string;
  readonly limits: ModelLimits | null;
}

interface PublicModels {
  readonly data: readonly { readonly id: string; readonly context_window?: number | null }[];
}

const unknownModel: ExampleModel = { model: "MODEL", limits: null };

/** A model that the key may use, for the examples. */
async function exampleModel(key: Pick<KeyView, "models" | "mode">): Promise<ExampleModel> {
  const { data }: PublicModels = await fetch(`${addressFor(location.origin, key.mode)}/v1/models`).then(
    (response) => response.json(),
  );
  const [model = data[0]?.id] = key.models ?? [];
  const listed = data.find(({ id }) => id === model);
  return model === undefined ? unknownModel : { model, limits: limitsOf(listed ?? {}) };
}

export function Snippets({ apiKey: key, secret }: { apiKey: KeyView; secret: string | null }) {
  const chosen = useState<string>("curl");
  const address = addressFor(location.origin, key.mode);
  const model = useLoaded(`model of ${key.id}`, () => exampleModel(key).catch(() => unknownModel));
  const snippet = snippetOf(clientIds.find((id) => id === chosen[0]) ?? "curl");
  const text = snippet.text({ address, key: secret ?? "YOUR_KEY", ...(model.value ?? unknownModel) });
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

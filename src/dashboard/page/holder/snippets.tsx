import { useState } from "preact/hooks";
import type { KeyView } from "../../../admin/views.ts";
import { useLoaded } from "../api.ts";
import { plainChoices } from "../parts/choose.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { SelectField } from "../parts/field.tsx";
import { addressFor, snippetsFor } from "./snippets.ts";

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

/** The address and ready-made settings of a key's clients. */
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
      <pre class="snippet" tabIndex={0}>
        {text}
      </pre>
      <CopyButton text={text} label="Copy snippet" />
    </div>
  );
}

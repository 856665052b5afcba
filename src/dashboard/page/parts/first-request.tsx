import type { KeyView } from "../../../admin/key-terms/schema.ts";
import { addressFor, snippetOf } from "../../../base/models/client-snippets.ts";
import { exampleModel } from "../example-model.ts";
import { useModels } from "../model-list.ts";
import { hrefOf } from "../router.ts";
import { CopyButton } from "./copy.tsx";

/** How to send the first request: a command to paste, and links to create and use a key. */
export function FirstRequest({ by: key }: { by?: KeyView }) {
  const models = useModels();
  const model = exampleModel("curl", models.value?.data ?? [], key) ?? "MODEL";
  const address = addressFor(location.origin, key?.mode ?? "credit");
  const curl = snippetOf("curl").text({ address, key: "YOUR_KEY", model });
  return (
    <div class="first-request stack">
      <p>
        {key ? (
          "Send a request with this key"
        ) : (
          <>
            Create a <a href={hrefOf("keys")}>key</a> and send a request with it
          </>
        )}
        , or from the <a href={hrefOf(key ? `playground?key=${key.id}` : "playground")}>playground</a>:
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls must be reachable by keyboard. */}
      <pre class="well snippet" tabIndex={0}>
        {curl}
      </pre>
      <CopyButton text={curl} label="Copy" />
    </div>
  );
}

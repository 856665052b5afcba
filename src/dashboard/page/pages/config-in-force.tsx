import type { ConfigTextView } from "../../../admin/views.ts";
import { useAnswer } from "../api.ts";
import { Card } from "../parts/card.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Shown } from "../parts/states.tsx";

/** As it would be written in a file, with references to secrets instead of them. */
export function ConfigInForce() {
  const config = useAnswer<ConfigTextView>("/config/toml");
  return (
    <Card title="Configuration in force" actions={<CopyButton text={config.value?.toml ?? ""} />}>
      <Shown loaded={config}>
        {({ toml }) => (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
          <section class="config" tabIndex={0} aria-label="Configuration in force">
            <pre>{toml === "" ? "# Everything has its default." : toml}</pre>
          </section>
        )}
      </Shown>
    </Card>
  );
}

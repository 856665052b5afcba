import type { IssuedKeyView } from "../../../admin/views.ts";
import { goTo } from "../router.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy.tsx";

/** The one moment at which a secret is on the page. */
export function Secret({ issued, onClose }: { issued: IssuedKeyView; onClose: () => void }) {
  return (
    <div class="body">
      <p>
        Copy the key now. Only its hash is kept, so <strong>it cannot be shown again</strong>.
      </p>
      <output class="secret" data-test="secret">
        {issued.key}
      </output>
      <footer>
        <CopyButton text={issued.key} label="Copy key" />
        <Button
          icon="playground"
          onClick={() => {
            onClose();
            goTo("playground");
          }}
        >
          Try it
        </Button>
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </footer>
    </div>
  );
}

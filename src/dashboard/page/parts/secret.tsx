import type { IssuedKeyView } from "../../../admin/key-terms/schema.ts";
import { goTo, hrefOf } from "../router.ts";
import { Snippets } from "../self-service/snippets.tsx";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";
import { ForAdmins } from "./for-admins.tsx";

/** Shows a new secret, once. */
export function Secret(props: { title: string; issued: IssuedKeyView; onClose: () => void }) {
  const { title, issued, onClose } = props;
  return (
    <Dialog title={title} stays onClose={onClose}>
      <div class="body stack">
        <p>
          Copy the key now. Only its hash is stored, so <strong>it cannot be shown again</strong>.
        </p>
        <output class="well secret" data-test="secret">
          {issued.key}
        </output>
        <p>
          <CopyButton text={issued.key} label="Copy key" />
        </p>
        <Snippets apiKey={issued} secret={issued.key} />
        <footer class="line">
          <ForAdmins>
            <Button
              icon="playground"
              onClick={() => {
                onClose();
                goTo(hrefOf(`playground?key=${issued.id}`));
              }}
            >
              Try it
            </Button>
          </ForAdmins>
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}

import type { ComponentChildren } from "preact";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { notify } from "./notices.tsx";
import { Failure } from "./states.tsx";
import { useSubmit } from "./submit.ts";

interface AskProps {
  readonly title: string;
  /** The object of the action, shown below the title: the menu that led here is one of many alike. */
  readonly about?: ComponentChildren;
  readonly verb: string;
  readonly danger?: boolean;
  readonly children: ComponentChildren;
  readonly send: () => Promise<unknown>;
  /** The message shown once it was sent. */
  readonly done?: string;
  /** Stays open when it was sent, because it shows what came back. */
  readonly stays?: boolean;
  readonly onClose: () => void;
}

/** A form in a dialog. If the server rejects it, the dialog stays open and shows the error. */
export function Ask({ title, about, verb, danger, children, send, done, stays, onClose }: AskProps) {
  const { busy, error, onSubmit } = useSubmit(async () => {
    await send();
    if (done !== undefined) notify(done);
    if (!stays) onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="body stack" onSubmit={onSubmit}>
        {about !== undefined && (
          <p class="muted" data-test="whose">
            {about}
          </p>
        )}
        {children}
        {error && <Failure error={error} />}
        <footer class="line">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind={danger ? "danger" : "primary"} busy={busy}>
            {verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

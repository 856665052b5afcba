import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ApiError } from "../api.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./states.tsx";

interface AskProps {
  readonly title: string;
  /** What it is about stands below the title: the menu that led here is one of many alike. */
  readonly about?: ComponentChildren;
  readonly verb: string;
  readonly danger?: boolean;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  readonly submit: () => Promise<void>;
}

/** A form in a dialog that stays open, with the server's words, when the server refuses. */
export function Ask(props: AskProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const onSubmit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await props.submit();
    } catch (cause) {
      setError(cause as ApiError);
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form class="body" onSubmit={onSubmit}>
        {props.about !== undefined && (
          <p class="muted" data-test="whose">
            {props.about}
          </p>
        )}
        {props.children}
        {error && <Failure error={error} />}
        <footer>
          <Button onClick={props.onClose}>Cancel</Button>
          <Button type="submit" kind={props.danger ? "danger" : "primary"} busy={busy}>
            {props.verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
